"""Generates the OpenAPI 3.1 document from the routes: `python -m functions.api.openapi [--check]`."""

import json
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, models_json_schema
from pydantic_core import core_schema

from functions.api.error_page import WEBHOOK_CODES
from functions.api.examples.document import add_examples
from functions.api.examples.parts import fold, prune, shorten
from functions.api.hooks.page import MODELS, webhooks
from functions.api.operations import ROUTES
from functions.api.tags import TAGS
from shared.contracts import WEBHOOK_PATH
from shared.web.authentication import SUSPENDED
from shared.web.problems import CODES, ProblemDetails
from shared.web.routing import Exchange, Form, Nothing, Page, Public, Route, Scheme, parameters

FILE: Final = Path(__file__).parent / "openapi.json"
PROJECT: Final = Path(__file__).parents[2] / "pyproject.toml"
"""Has the version of everything: the package, the API and the newest release in CHANGELOG.md."""
OF_KEYS: Final = (
    *("key_expired", "key_revoked", "token_expired", "proof_needed", "signature_invalid", "network_not_allowed"),
    "missing_scope",
)
"""Codes that only an API key is refused with."""
COMMON: Final = ("unauthorized", *OF_KEYS, "rate_limited", "internal_error", "try_again", "malformed_request")
_OF_STATUS: Final = ("validation_failed", "not_found", "too_large", "unsupported_media_type")
"""Codes that say no more than their status."""
_PLAIN: Final = ("string", "integer", "number", "boolean")
_SCHEMES: Final = {Scheme.KEY: "key", Scheme.BASIC: "notifier"}
_IF_NONE_MATCH: Final = {
    "name": "If-None-Match",
    "in": "header",
    "required": False,
    "description": "The `ETag` of the answer that the client has.",
    "schema": {"type": "string"},
}
_HEADERS: Final = {
    "Idempotency-Replayed": "`true` if this is an earlier answer.",
    "Location": "The new resource.",
}
"""Headers of the answers that many operations give."""
_KEY_USE: Final = "Same key and same body: the first answer again. Kept 24 h past the scheduled send."
_REF: Final = "#/components/schemas/{model}"
_PARAMETERS: Final[Mapping[str, Mapping[str, Any]]] = {
    "id": {"type": "string", "description": "Of the resource: 26 lower-case characters.", "maxLength": 100},
    "upload_id": {"type": "string", "description": "The upload's id, from the call that created it.", "maxLength": 100},
    "message": {"type": "string", "description": "`chunk.index`, as in the log's lines.", "maxLength": 100},
    "message_id": {"type": "string", "description": "The notifier's own id of a notice.", "maxLength": 200},
    "prefix": {
        "type": "string",
        "description": "What batch keys begin with. It is the rest of the path, so it may hold `/`, also at its end.",
        "maxLength": 200,
    },
    "domain": {"type": "string", "description": "A domain, as in `news.example.com`.", "maxLength": 253},
    "hook_id": {"type": "string", "description": "An endpoint's id.", "maxLength": 100},
    "delivery_id": {"type": "string", "description": "A delivery's id.", "maxLength": 300},
    "mail_id": {"type": "string", "description": "A mail's id.", "maxLength": 100},
    "window_id": {"type": "string", "description": "A window's id.", "maxLength": 100},
    "program": {"type": "string", "description": "A program's name.", "maxLength": 64},
    "range": {
        "type": "string",
        "description": "FROM-TO, half open, both YYYYMMDD or both YYYYMMDDHHMMSS in the notifier's time zone. In days, "
        "TO is at most today. A `Link` has its own form, in UTC.",
        "maxLength": 40,
    },
    "name": {"type": "string", "description": "A notifier's name.", "maxLength": 63},
    "address": {"type": "string", "description": "An e-mail address.", "maxLength": 998},
    "token": {"type": "string", "description": "The token in the link of an e-mail.", "maxLength": 1000},
}

Schema = dict[str, Any]


class _Brief(GenerateJsonSchema):
    """Gives fields no titles, which would be their names again, and plain values that may be null two types.

    Generators of clients lose what is within an object or a list that may be null if these have two types.
    """

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - of none
        return False

    def nullable_schema(self, schema: core_schema.NullableSchema) -> Schema:
        found = super().nullable_schema(schema)
        first, *others = found.get("anyOf", [{}])
        if others != [{"type": "null"}] or first.get("type") not in _PLAIN or {"enum", "const"} & first.keys():
            return found
        return {**first, "type": [first["type"], "null"]}


def generate() -> Schema:
    """Return the document."""
    schemas, refs = _schemas()
    paths: dict[str, Schema] = {}
    for route in ROUTES:
        if isinstance(route, Page):
            operation = _page(route)
        elif isinstance(route, Exchange):
            operation = _exchange(route, refs)
        else:
            operation = _public(route) if isinstance(route, Public) else _described(route, schemas, refs)
        paths.setdefault(route.path, {})[route.method.lower()] = operation
    paths[WEBHOOK_PATH] = {"post": _webhook()}
    document: Schema = {
        "openapi": "3.1.0",
        "info": {
            "title": "Posthaste",
            "version": tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["version"],
            "description": "Each message once, never above a provider's rate, never silently lost.\n\n"
            "Errors are RFC 9457 problem details with a stable `code`. A POST with an `Idempotency-Key` can be "
            "repeated: it gives the first answer again.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "./", "description": "The deployment that this document is from."}],
        "security": [{"key": []}],
        "tags": [{"name": name, "description": text} for name, text in TAGS.items()],
        "paths": paths,
        "webhooks": webhooks(refs),
        "components": {
            "securitySchemes": {
                "key": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "An API key: `ph_live_…`, `ph_team_…`, which sends only to the account's guests, or "
                    "`ph_test_…`, whose messages never reach a provider.",
                },
                "notifier": {
                    "type": "http",
                    "scheme": "basic",
                    "description": "The name and password of a notifier.",
                },
            },
            "headers": _in_words(_HEADERS),
            "schemas": schemas,
        },
    }
    add_examples(document)
    prune(document)
    shorten(document)
    fold(document, (*COMMON, *_OF_STATUS))
    return document


def _schemas() -> tuple[dict[str, Schema], dict[tuple[type[BaseModel], str], Schema]]:
    inputs = dict.fromkeys(_inputs())
    outputs = dict.fromkeys([*_outputs(), ProblemDetails, *MODELS])
    wanted: list[Any] = [(m, "validation") for m in inputs] + [(m, "serialization") for m in outputs]
    found, definitions = models_json_schema(wanted, ref_template=_REF, schema_generator=_Brief)
    refs: Any = found
    return dict(definitions["$defs"]), refs


def _inputs() -> Iterable[type[BaseModel]]:
    for route in ROUTES:
        if isinstance(route, Route) and not route.brief:
            yield from (model for model in (route.query, route.body) if model is not Nothing)
        elif isinstance(route, Exchange):
            yield route.body


def _outputs() -> Iterable[type[BaseModel]]:
    for route in ROUTES:
        if isinstance(route, Route) and route.brief:
            continue
        if isinstance(route, Route):
            yield from (model for model in route.answers.values() if model is not Nothing)
        elif isinstance(route, Exchange):
            yield route.answer
        if isinstance(route, Route | Exchange) and route.form is not None:
            yield route.form.model


def _described(
    route: Route, schemas: Mapping[str, Schema], refs: Mapping[tuple[type[BaseModel], str], Schema]
) -> Schema:
    return _brief(route) if route.brief else _operation(route, schemas, refs)


def _brief(route: Route) -> Schema:
    """Return an operation of another service without the fields, which that service's documentation describes."""
    operation: Schema = {"operationId": route.name, "tags": [route.tag], "summary": route.summary}
    if route.parameters:
        operation["parameters"] = _path_parameters(route)
    operation |= {"responses": {str(s): {"description": HTTPStatus(s).phrase} for s in route.answers}}
    operation["responses"]["default"] = {"description": "A problem, as that service says it."}
    operation["x-scope"] = route.scope.value
    if route.areas:
        operation["x-areas"] = [area.value for area in route.areas]
    if route.body is not Nothing:
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": {}}}}
    return operation


def _operation(
    route: Route, schemas: Mapping[str, Schema], refs: Mapping[tuple[type[BaseModel], str], Schema]
) -> Schema:
    operation: Schema = {
        "operationId": route.name,
        "tags": [route.tag],
        "summary": route.summary,
        "parameters": [*_path_parameters(route), *_query_parameters(route, schemas, refs)],
        "responses": _responses(route, refs),
    }
    if tuple(route.schemes) != (Scheme.KEY,):
        operation["security"] = [{_SCHEMES[scheme]: []} for scheme in route.schemes]
    if Scheme.KEY in route.schemes:
        operation["x-scope"] = route.scope.value
    if route.areas:
        operation["x-areas"] = [area.value for area in route.areas]
    if route.description:
        operation["description"] = route.description
    if route.body is not Nothing:
        content = {"application/json": {"schema": refs[route.body, "validation"]}}
        content |= {kind: {"schema": {"type": "string"}} for kind in route.media}
        operation["requestBody"] = {"required": route.needs_body, "content": content}
    if route.tagged:
        operation["parameters"].append(_IF_NONE_MATCH)
        operation["responses"]["304"] = {"description": "Not Modified: the client has the same answer already."}
    if route.idempotent or route.key_use:
        operation["parameters"].append(
            {
                "name": "Idempotency-Key",
                "in": "header",
                "description": route.key_use or _KEY_USE,
                "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]([ -~]*[!-~])?$"},
            }
        )
    return operation


def _responses(route: Route, refs: Mapping[tuple[type[BaseModel], str], Schema]) -> Schema:
    return {
        **{
            str(status): {
                "description": HTTPStatus(status).phrase,
                "headers": _headers(route, status),
                **_content(model, refs),
            }
            for status, model in route.answers.items()
        },
        **_problems([*_codes(route)], refs, route.form),
    }


def _takes_input(route: Route) -> bool:
    """Check whether a request may hold something that is not valid."""
    return bool(route.query is not Nothing or route.body is not Nothing or route.parameters or route.method == "GET")


def _of_callers(route: Route) -> Iterable[str]:
    """Yield the codes that depend on who calls."""
    yield from (code for code in COMMON if code not in OF_KEYS or Scheme.KEY in route.schemes)
    yield from route.problems
    if route.shut and Scheme.KEY in route.schemes and SUSPENDED not in route.problems:
        yield SUSPENDED


def _codes(route: Route) -> Iterable[str]:
    yield from _of_callers(route)
    if route.refusal:
        yield from ("too_large", "unsupported_media_type")
        return
    if _takes_input(route):
        yield "validation_failed"
    if route.method in {"POST", "PUT", "PATCH"}:
        yield from ("malformed_json", "invalid_utf8", "too_large", "unsupported_media_type", "validation_failed")
    if route.idempotent or route.key_use:
        yield "bad_idempotency_key"
    if route.idempotent:
        yield "idempotency_mismatch"


def _headers(route: Route, status: int) -> Schema:
    if route.tagged:
        return {"ETag": {"description": "For `If-None-Match`.", "schema": {"type": "string"}}}
    found = _in_words(route.headers)
    if route.idempotent:
        shared = [name for name in _HEADERS if name != "Location" or status != HTTPStatus.OK]
        found = {**{name: {"$ref": f"#/components/headers/{name}"} for name in shared}, **found}
    return found


def _in_words(headers: Mapping[str, str]) -> Schema:
    return {name: {"description": said, "schema": {"type": "string"}} for name, said in headers.items()}


def _content(model: type[BaseModel], refs: Mapping[tuple[type[BaseModel], str], Schema]) -> Schema:
    if model is Nothing:
        return {}  # the answer has no body
    return {"content": {"application/json": {"schema": refs[model, "serialization"]}}}


def _problems(
    codes: Sequence[str], refs: Mapping[tuple[type[BaseModel], str], Schema], form: Form | None = None
) -> Schema:
    status_of = form.status if form is not None else lambda code: CODES[code][0]
    kind = "application/json" if form is not None else "application/problem+json"
    schema = refs[form.model if form is not None else ProblemDetails, "serialization"]
    by_status: dict[int, list[str]] = {}
    for code in dict.fromkeys(codes):
        by_status.setdefault(status_of(code), []).append(code)
    return {
        str(status): {
            "description": "\n\n".join(f"`{code}`: {CODES[code][1]}" for code in some),
            "content": {kind: {"schema": schema}},
        }
        for status, some in sorted(by_status.items())
    }


def _path_parameters(route: Route | Public) -> list[Schema]:
    out = []
    for name in parameters(route.path):
        known = dict(_PARAMETERS[name])
        description = known.pop("description")
        schema = {**known, "minLength": 1}
        out.append({"name": name, "in": "path", "required": True, "description": description, "schema": schema})
    return out


def _query_parameters(
    route: Route, schemas: Mapping[str, Schema], refs: Mapping[tuple[type[BaseModel], str], Schema]
) -> list[Schema]:
    if route.query is Nothing:
        return []
    model = schemas[refs[route.query, "validation"]["$ref"].rpartition("/")[2]]
    out = []
    for name, schema in model["properties"].items():
        plain = {k: v for k, v in schema.items() if k not in {"description", "title"}}
        parameter = {"name": name, "in": "query", "required": False, "schema": _optional(plain)}
        if "description" in schema:
            parameter["description"] = schema["description"]
        if parameter["schema"].get("type") == "array":
            parameter |= {"style": "form", "explode": False}
        out.append(parameter)
    return out


def _optional(schema: Schema) -> Schema:
    """Return a parameter's schema without null: a parameter is left out instead."""
    if isinstance(schema.get("type"), list):
        return {**{k: v for k, v in schema.items() if k != "default"}, "type": schema["type"][0]}
    if "anyOf" not in schema:
        return schema
    rest = {k: v for k, v in schema.items() if k not in {"anyOf", "default"}}
    return {**next(s for s in schema["anyOf"] if s.get("type") != "null"), **rest}


def _page(page: Page) -> Schema:
    content = {page.content_type: {"schema": {"type": "string" if "html" in page.content_type else "object"}}}
    return {
        "operationId": page.name,
        "tags": ["Service"],
        "summary": page.summary,
        "security": [],
        "responses": {"200": {"description": "OK", "content": content}},
    }


def _exchange(route: Exchange, refs: Mapping[tuple[type[BaseModel], str], Schema]) -> Schema:
    form = {"schema": refs[route.body, "validation"], "example": dict(route.example)}
    content = {"application/x-www-form-urlencoded": form}
    return {
        "operationId": route.name,
        "tags": ["Service"],
        "summary": route.summary,
        "description": route.description,
        "security": [],
        "requestBody": {"required": True, "content": content},
        "responses": {
            "200": {"description": "OK", **_content(route.answer, refs)},
            **_problems(route.problems, refs, route.form),
        },
    }


def _public(route: Public) -> Schema:
    pages = {"text/html": {"schema": {"type": "string"}}}
    fault = {"application/problem+json": {"schema": {"$ref": _REF.format(model=ProblemDetails.__name__)}}}
    said = {"404": "The link is not one of ours.", "429": "Too often.", "503": "Not just now."}
    said |= {"409": route.conflict} if route.conflict else {}
    operation: Schema = {
        "operationId": route.name,
        "tags": ["Unsubscribe"],
        "summary": route.summary,
        "security": [],
        "parameters": _path_parameters(route),
        "responses": {
            "200": {"description": "OK", "content": {kind: {"schema": {"type": "string"}} for kind in route.answers}},
            **{status: {"description": text, "content": pages} for status, text in said.items()},
            **{str(s): {"description": HTTPStatus(s).phrase, "content": fault} for s in (400, 413, 500)},
        },
    }
    if route.description:
        operation["description"] = route.description
    return operation


def _webhook() -> Schema:
    """Return what providers call. Another function answers it, so it is no route of this one."""
    counts = {
        "received": {"type": "integer", "description": "Events of the post."},
        "ours": {"type": "integer", "description": "Those about messages of this deployment."},
    }
    taken = {"type": "object", "title": "Taken", "required": list(counts), "properties": counts}
    fault = {"application/problem+json": {"schema": {"$ref": _REF.format(model=ProblemDetails.__name__)}}}
    names = {"provider": "Its name, as in the settings.", "credential_id": "The credential's id."}
    return {
        "operationId": "postProviderEvents",
        "tags": ["Webhooks"],
        "summary": "Events of a provider",
        "description": "Providers post here, in their own format. The provider's own signature over the raw body takes "
        "the place of a key. 200 means that every event is queued.",
        "security": [],
        "parameters": [
            {"name": n, "in": "path", "required": True, "description": d, "schema": {"type": "string", "minLength": 1}}
            for n, d in names.items()
        ],
        "requestBody": {"required": True, "content": {"*/*": {"schema": {}}}},
        "responses": {
            "200": {"description": "OK", "content": {"application/json": {"schema": taken}}},
            **{
                str(status): {"description": f"`{code}`: {said}", "content": fault}
                for code, (status, said) in WEBHOOK_CODES.items()
            },
        },
    }


def text() -> str:
    """Return the document as it is committed."""
    return json.dumps(generate(), indent=1, ensure_ascii=False) + "\n"


def main() -> int:
    """Write the document, or with --check tell whether the committed one is current."""
    if "--check" in sys.argv[1:]:
        return int(FILE.read_text(encoding="utf-8") != text())
    FILE.write_text(text(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
