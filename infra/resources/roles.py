"""Roles in which services of AWS act for the stack."""

from aws_cdk import Stack
from aws_cdk.aws_iam import Effect, PolicyDocument, PolicyStatement, Role, ServicePrincipal
from constructs import Construct


class SchedulerRole(Construct):
    """A role in which schedules of this account act; the stack adds its rights."""

    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        self._policy = PolicyDocument()
        # Only for schedules of this account: else anybody's schedule could use the role (the confused deputy).
        ours = {"StringEquals": {"aws:SourceAccount": Stack.of(self).account}}
        self.role = Role(
            self,
            "Role",
            assumed_by=ServicePrincipal("scheduler.amazonaws.com", conditions=ours),
            inline_policies={"access": self._policy},
        )

    def allow(self, *actions: str, on: list[str]) -> None:
        """Let schedules do these actions on these resources (ARNs)."""
        self._policy.add_statements(PolicyStatement(effect=Effect.ALLOW, actions=list(actions), resources=on))
