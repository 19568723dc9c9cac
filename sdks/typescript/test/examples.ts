// Calls each operation that it is given, of a server that answers the example; it prints as JSON what came back.
import { readFileSync } from "node:fs";
import { Posthaste } from "../src/index.ts";

interface Case {
  method: string;
  iterator: string;
  given: unknown[];
  query: Record<string, unknown>;
  status: number;
  answer: unknown;
  last: unknown;
}
type Methods = Record<string, (...given: unknown[]) => unknown>;

async function called({ method, iterator, given, query, status, answer, last }: Case): Promise<unknown> {
  const words = Object.keys(query).length > 0 ? [...given, query] : given;
  let answers = [answer, last];
  const fetch = async (): Promise<Response> => Response.json(answers.shift(), { status });
  const api = new Posthaste({ url: "https://api.example.com", key: "ph_test_x", fetch }) as unknown as Methods;
  const returned = await api[method]?.(...words);
  answers = [answer, last];
  const items: unknown[] = [];
  for await (const item of (iterator ? api[iterator]?.(...words) : []) as AsyncIterable<unknown>) items.push(item);
  return { returned, items };
}

const found: unknown[] = [];
for (const each of JSON.parse(readFileSync(0, "utf8")) as Case[]) found.push(await called(each));
console.log(JSON.stringify(found));
