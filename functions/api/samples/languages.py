"""A call as a whole program: curl, Python, TypeScript, Go and PHP. Each ends with an error if the answer is one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from functions.api.samples.layout import JSON, PHP, PYTHON, laid_out

URL: Final = "POSTHASTE_URL"
API_KEY: Final = "POSTHASTE_API_KEY"
NOTIFIER: Final = "POSTHASTE_NOTIFIER"
LOGIN: Final = "POSTHASTE_NOTIFIER_PASSWORD"


class Proof(StrEnum):
    """How a sample proves who calls."""

    KEY = "an API key"
    NOTIFIER = "a notifier's name and password"
    NONE = "nothing"


@dataclass(frozen=True, slots=True)
class SampleCall:
    """A call, as all languages make it.

    Attributes:
        method: of HTTP.
        path: with values, encoded, and with the query.
        proof: how it proves who calls.
        body: JSON's values; None: none, or a form.
        form: a body that is a form.
        headers: others than those of `proof` and `body`.
        returns_json: whether the answer is JSON.
    """

    method: str
    path: str
    proof: Proof
    body: Any = None
    form: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    returns_json: bool = True

    @property
    def media_type(self) -> str:
        """The type of the body; empty: there is none."""
        if self.form:
            return "application/x-www-form-urlencoded"
        return "" if self.body is None else "application/json"

    @property
    def plain_headers(self) -> dict[str, str]:
        """All headers whose values are known."""
        return {**({"Content-Type": self.media_type} if self.media_type else {}), **self.headers}


def curl(call: SampleCall) -> str:
    """Return it as a command of a shell."""
    method = "" if call.method == "GET" else f"-X {call.method} "
    lines = [f'curl -sS --fail-with-body {method}"${URL}{call.path}"']
    if call.proof is Proof.KEY:
        lines.append(f'-H "Authorization: Bearer ${API_KEY}"')
    if call.proof is Proof.NOTIFIER:
        lines.append(f'-u "${NOTIFIER}:${LOGIN}"')
    lines += [f"-H '{name}: {value}'" for name, value in call.plain_headers.items()]
    if call.media_type:
        text = call.form or laid_out(call.body, JSON)
        lines.append("-d '" + text.replace("'", "'\\''") + "'")
    return " \\\n  ".join(lines) + "\n"


def python(call: SampleCall) -> str:
    """Return it as a program for Python, with httpx."""
    headers = [f'"Authorization": "Bearer " + os.environ["{API_KEY}"]'] if call.proof is Proof.KEY else []
    known = call.headers if call.body is not None else call.plain_headers
    headers += [f'"{name}": "{value}"' for name, value in known.items()]
    lines = [f'"{call.method}",', f'os.environ["{URL}"] + "{call.path}",']
    if call.proof is Proof.NOTIFIER:
        lines.append(f'auth=(os.environ["{NOTIFIER}"], os.environ["{LOGIN}"]),')
    if headers:
        lines.append("headers={" + ", ".join(headers) + "},")
    if call.body is not None:
        lines.append(f"json={laid_out(call.body, PYTHON, 1)},")
    if call.form:
        lines.append(f'content="{call.form}",')
    inside = "".join(f"    {line}\n" for line in lines)
    shown = "answer.json()" if call.returns_json else "answer.text"
    return (
        f"import os\n\nimport httpx\n\nanswer = httpx.request(\n{inside})\nanswer.raise_for_status()\nprint({shown})\n"
    )


def _typescript_headers(call: SampleCall) -> str:
    """Return the field `headers` of an argument of fetch; empty: there are none."""
    headers = []
    if call.proof is Proof.KEY:
        headers.append(f"Authorization: `Bearer ${{process.env.{API_KEY}}}`")
    if call.proof is Proof.NOTIFIER:
        headers.append(f"Authorization: `Basic ${{btoa(`${{process.env.{NOTIFIER}}}:${{process.env.{LOGIN}}}`)}}`")
    headers += [f'"{name}": "{value}"' for name, value in call.plain_headers.items()]
    return "headers: {" + "".join(f"\n    {header}," for header in headers) + "\n  }" if headers else ""


def typescript(call: SampleCall) -> str:
    """Return it as a program for TypeScript, with the runtime's own fetch."""
    options = [] if call.method == "GET" else [f'method: "{call.method}"']
    if headers := _typescript_headers(call):
        options.append(headers)
    if call.body is not None:
        options.append(f"body: JSON.stringify({laid_out(call.body, JSON, 1)})")
    if call.form:
        options.append(f'body: "{call.form}"')
    inside = "".join(f"\n  {option}," for option in options)
    given = f", {{{inside}\n}}" if options else ""
    shown = "json" if call.returns_json else "text"
    return (
        f"const answer = await fetch(`${{process.env.{URL}}}{call.path}`{given});\n"
        "if (!answer.ok) {\n  throw new Error(`${answer.status}: ${await answer.text()}`);\n}\n"
        f"console.log(await answer.{shown}());\n"
    )


_GO_ENDS: Final = """\
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		log.Fatal(err)
	}
	if answer.StatusCode >= 300 {
		log.Fatalf("%s: %s", answer.Status, text)
	}
	fmt.Println(string(text))
}
"""


def go(call: SampleCall) -> str:
    """Return it as a program for Go, with its standard library."""
    packages = ["fmt", "io", "log", "net/http", "os"]
    body, begins = "nil", ""
    if call.media_type:
        packages.append("strings")
        body = "body"
        begins = f"\tbody := strings.NewReader(`{call.form or laid_out(call.body, JSON)}`)\n"
    sets = [f'"{name}", "{value}"' for name, value in call.plain_headers.items()]
    if call.proof is Proof.KEY:
        sets.insert(0, f'"Authorization", "Bearer "+os.Getenv("{API_KEY}")')
    headers = "".join(f"\trequest.Header.Set({pair})\n" for pair in sets)
    if call.proof is Proof.NOTIFIER:
        headers = f'\trequest.SetBasicAuth(os.Getenv("{NOTIFIER}"), os.Getenv("{LOGIN}"))\n' + headers
    imports = "".join(f'\t"{name}"\n' for name in packages)
    return (
        f"package main\n\nimport (\n{imports})\n\nfunc main() {{\n{begins}"
        f'\trequest, err := http.NewRequest("{call.method}", os.Getenv("{URL}")+"{call.path}", {body})\n'
        f"\tif err != nil {{\n\t\tlog.Fatal(err)\n\t}}\n{headers}{_GO_ENDS}"
    )


_PHP_ENDS: Final = """\
]);
$text = curl_exec($request);
if ($text === false) {
    throw new RuntimeException(curl_error($request));
}
$status = curl_getinfo($request, CURLINFO_RESPONSE_CODE);
if ($status >= 300) {
    throw new RuntimeException("$status: $text");
}
echo $text, PHP_EOL;
"""


def php(call: SampleCall) -> str:
    """Return it as a program for PHP, with its curl extension."""
    headers = [f"'Authorization: Bearer ' . getenv('{API_KEY}')"] if call.proof is Proof.KEY else []
    headers += [f"'{name}: {value}'" for name, value in call.plain_headers.items()]
    options = ["CURLOPT_RETURNTRANSFER => true"]
    if call.method != "GET":
        options.append(f"CURLOPT_CUSTOMREQUEST => '{call.method}'")
    if call.proof is Proof.NOTIFIER:
        options.append(f"CURLOPT_USERPWD => getenv('{NOTIFIER}') . ':' . getenv('{LOGIN}')")
    if headers:
        options.append("CURLOPT_HTTPHEADER => [" + "".join(f"\n        {header}," for header in headers) + "\n    ]")
    if call.body is not None:
        options.append(f"CURLOPT_POSTFIELDS => json_encode({laid_out(call.body, PHP, 1)})")
    if call.form:
        options.append(f"CURLOPT_POSTFIELDS => '{call.form}'")
    inside = "".join(f"    {option},\n" for option in options)
    path = call.path.replace("'", r"\'")
    begins = f"<?php\n\n$request = curl_init(getenv('{URL}') . '{path}');\n"
    return f"{begins}curl_setopt_array($request, [\n{inside}{_PHP_ENDS}"


@dataclass(frozen=True, slots=True)
class Language:
    """A language of samples.

    Attributes:
        name: as `lang` of `x-codeSamples` has it.
        label: what people read.
        lexer: of the site's code blocks.
        suffix: of a program's file.
        program: a call as a whole program.
    """

    name: str
    label: str
    lexer: str
    suffix: str
    program: Callable[[SampleCall], str]


LANGUAGES: Final = (
    Language("Shell", "curl", "sh", "sh", curl),
    Language("Python", "Python", "python", "py", python),
    Language("TypeScript", "TypeScript", "ts", "mts", typescript),
    Language("Go", "Go", "go", "go", go),
    Language("PHP", "PHP", "php", "php", php),
)
