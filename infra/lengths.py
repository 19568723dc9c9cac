"""How long the values of a template can become when CloudFormation resolves them.

A reference counts with the longest value that it can have in any region, partition and account.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

PSEUDO: Final = {"Region": 14, "AccountId": 12, "Partition": 10, "URLSuffix": 16, "StackName": 128, "NoValue": 0}
"""Pseudo parameters: ap-southeast-1, aws-us-gov, amazonaws.com.cn."""
ARN: Final = len("arn:aws-us-gov:secretsmanager:ap-southeast-1:123456789012:function:")
"""Longer than what comes before the name in any ARN that a template of ours refers to."""
QUEUE_URL: Final = len("https://sqs.ap-southeast-1.amazonaws.com.cn/123456789012/")
API_URL: Final = len("https://0123456789.execute-api.ap-southeast-1.amazonaws.com.cn")
SUFFIX: Final = 13
"""Characters with which CloudFormation ends a name that it makes."""
STREAM: Final = len("/stream/2026-01-01T00:00:00.000")
UNKNOWN: Final = 200
"""Of a value that is none of these: longer than each of them."""
NAMED: Final = {"AWS::SQS::Queue": "QueueName", "AWS::SNS::Topic": "TopicName", "AWS::SecretsManager::Secret": "Name"}
"""Types with names of ours → the property."""
LONGEST: Final = {"AWS::Lambda::Function": 64, "AWS::IAM::Role": 64, "AWS::S3::Bucket": 63, "AWS::DynamoDB::Table": 255}
"""Types with names that CloudFormation makes → the longest that it makes."""

Json = Mapping[str, Any]


class Lengths:
    """Resolves the values of a stack's template, and those of its nested stacks.

    Args:
        templates: of the stack and of its nested stacks.
    """

    def __init__(self, stack: str, templates: list[Json]) -> None:
        self._stack = stack
        self._resources = {name: row for t in templates for name, row in t["Resources"].items()}
        nested = [r for r in self._resources.values() if r["Type"] == "AWS::CloudFormation::Stack"]
        self._parameters = {k: v for r in nested for k, v in r["Properties"].get("Parameters", {}).items()}
        self._outputs = {name: row["Value"] for t in templates for name, row in t.get("Outputs", {}).items()}

    def origin(self, value: Any) -> str:
        """Return the logical id of the resource that a value refers to, through the parameters and outputs of stacks.

        A value that refers to none is returned as JSON.
        """
        match value:
            case {"Ref": str(name)} if name in self._parameters:
                return self.origin(self._parameters[name])
            case {"Ref": str(name)}:
                return name
            case {"Fn::GetAtt": [str(), str(attribute)]} if attribute.removeprefix("Outputs.") in self._outputs:
                return self.origin(self._outputs[attribute.removeprefix("Outputs.")])
            case {"Fn::GetAtt": [str(name), _]}:
                return name
        return json.dumps(value)

    def resolved(self, value: Any) -> Any:
        """Return a value with a text of the greatest length in place of each reference."""
        if isinstance(value, list):
            return [self.resolved(x) for x in value]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            (function, argument), *_ = value.items()
            if function == "Ref" or function.startswith("Fn::"):
                return self._called(function, argument)
        return {k: self.resolved(v) for k, v in value.items()}

    def json(self, value: Any) -> int:
        """Return the bytes of a value as JSON without spaces, as AWS counts policies and environments."""
        return len(json.dumps(self.resolved(value), separators=(",", ":"), ensure_ascii=False).encode())

    def text(self, value: Any) -> int:
        """Return the characters of a text."""
        return len(str(self.resolved(value)))

    def _called(self, function: str, argument: Any) -> str:
        match function, argument:
            case "Fn::Join", [separator, parts]:
                return str(separator).join(map(str, self.resolved(parts)))
            case "Fn::Select", [_, {"Fn::Split": [_, whole]}]:
                return str(self.resolved(whole))
            case "Fn::Sub", str():
                return argument + "x" * PSEUDO["Region"]
            case "Ref", _:
                return self._referred(argument)
            case "Fn::GetAtt", [name, attribute]:
                return "x" * self._attribute(str(name), str(attribute))
        return "x" * UNKNOWN

    def _referred(self, name: str) -> str:
        if name.startswith("AWS::"):
            return "x" * PSEUDO.get(name.removeprefix("AWS::"), UNKNOWN)
        if name in self._parameters:
            return str(self.resolved(self._parameters[name]))
        kind = self._resources.get(name, {}).get("Type", "")
        before = {"AWS::SQS::Queue": QUEUE_URL, "AWS::SNS::Topic": ARN, "AWS::SecretsManager::Secret": ARN + 7}
        return "x" * (before.get(kind, 0) + self._name(name))

    def _attribute(self, name: str, attribute: str) -> int:
        if attribute == "ApiEndpoint":
            return API_URL
        if attribute in ("Arn", "StreamArn"):
            return ARN + self._name(name) + (STREAM if attribute == "StreamArn" else 0)
        return UNKNOWN

    def _name(self, name: str) -> int:
        """Return the characters of a resource's physical name."""
        row = self._resources.get(name, {"Type": ""})
        own = row.get("Properties", {}).get(NAMED.get(row["Type"], ""))
        if own:
            return self.text(own)
        made = len(self._stack) + len(name) + SUFFIX + 2
        return min(made, LONGEST.get(row["Type"], UNKNOWN))
