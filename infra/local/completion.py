"""Settings that the emulator's CloudFormation drops silently, set by API from the synthesised template.

Reserved concurrency, table TTL and the HTTP API's CORS: the deployment succeeds without them, and without the first the
bulkheads would not exist locally. Once set, they hold across code deployments. The API's address, as functions get it,
also has a host name that no machine can resolve: links in mails have to work.
"""

from collections.abc import Sequence
from typing import Final

from infra.local import accounts
from infra.local.deploy import Stack, client
from shared.contracts import ENV_API_URL

CORS_NAMES: Final = ("AllowOrigins", "AllowMethods", "AllowHeaders", "ExposeHeaders", "MaxAge", "AllowCredentials")


def complete(stacks: Sequence[Stack], port: int) -> dict[str, int]:
    """Set what is missing; return how many resources of each kind were set (idempotent)."""
    return {
        "reserved concurrency": sum(_reserve(stack, port) for stack in stacks),
        "table TTL": sum(_expire(stack, port) for stack in stacks),
        "CORS": sum(_cors(stack, port) for stack in stacks),
        "API address": sum(_address(stack, port, accounts.address(stacks, port)) for stack in stacks),
    }


def _reserve(stack: Stack, port: int) -> int:
    functions = client("lambda", port)
    count = 0
    for name, properties in stack.of_type("AWS::Lambda::Function"):
        if "ReservedConcurrentExecutions" in properties:
            functions.put_function_concurrency(
                FunctionName=name,
                ReservedConcurrentExecutions=int(properties["ReservedConcurrentExecutions"]),
            )
            count += 1
    return count


def _expire(stack: Stack, port: int) -> int:
    dynamodb = client("dynamodb", port)
    count = 0
    for kind in ("AWS::DynamoDB::Table", "AWS::DynamoDB::GlobalTable"):
        for name, properties in stack.of_type(kind):
            wanted = properties.get("TimeToLiveSpecification")
            if not wanted:
                continue
            present = dynamodb.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
            if present.get("TimeToLiveStatus") != "ENABLED":
                dynamodb.update_time_to_live(
                    TableName=name,
                    TimeToLiveSpecification={"Enabled": True, "AttributeName": wanted["AttributeName"]},
                )
            count += 1
    return count


def _cors(stack: Stack, port: int) -> int:
    apis = client("apigatewayv2", port)
    count = 0
    for api, properties in stack.of_type("AWS::ApiGatewayV2::Api"):
        wanted = properties.get("CorsConfiguration")
        if wanted:
            apis.update_api(ApiId=api, CorsConfiguration={k: v for k, v in wanted.items() if k in CORS_NAMES})
            count += 1
    return count


def _address(stack: Stack, port: int, address: str) -> int:
    functions = client("lambda", port)
    count = 0
    for name, properties in stack.of_type("AWS::Lambda::Function"):
        if ENV_API_URL in properties.get("Environment", {}).get("Variables", {}):
            known = functions.get_function_configuration(FunctionName=name)["Environment"]["Variables"]
            if known[ENV_API_URL] != address:
                variables = {**known, ENV_API_URL: address}
                functions.update_function_configuration(FunctionName=name, Environment={"Variables": variables})
            count += 1
    return count
