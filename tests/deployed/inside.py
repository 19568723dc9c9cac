"""The deployed system from inside, as the emulator's root user: its tables, its queues and its functions' processes."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Self

import psutil

from infra.local import accounts, deploy, emulator, processes
from infra.local import cloud as local_cloud
from infra.local.cloud import Cloud
from infra.local.paths import ENV_LOCAL, paths
from shared import contracts
from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.jobs.ledger_writes import JobTables
from shared.adapters.dynamo.jobs.ledgers import DynamoLedgers
from shared.adapters.dynamo.jobs.records import DynamoRecords
from shared.adapters.s3.blobs import S3Blobs
from shared.contracts import Credential
from shared.domain.lanes.pacing import pace
from simulator.client import ControlClient
from tests.deployed.api import Api


class NoLane(Exception):
    """This cloud lacks a lane of lanes.json."""


@dataclass(frozen=True, slots=True)
class Inside:
    """Handles of a running local cloud; safe for threads."""

    cloud: Cloud
    port: int
    deployment: accounts.LocalDeployment
    dynamo: Dynamo
    records: DynamoRecords
    ledgers: DynamoLedgers
    sqs: Any
    functions: Any
    names: dict[str, str]
    """Function name by its handler, the senders' by their lane."""

    @classmethod
    def of(cls, cloud: Cloud, stacks: list[deploy.Stack], port: int) -> Self:
        """Look into a cloud."""
        deployment = accounts.describe(stacks, port)
        dynamo = Dynamo(deploy.client("dynamodb", port))
        environment = deployment.environment
        ops = environment[contracts.ENV_OPS_TABLE]
        blobs = S3Blobs(lambda: deploy.client("s3", port), environment.get(contracts.ENV_BUCKET, ""))
        functions = deploy.client("lambda", port)
        names = {}
        for stack in stacks:
            for name, _ in stack.of_type("AWS::Lambda::Function"):
                found = functions.get_function_configuration(FunctionName=name)
                variables = found.get("Environment", {}).get("Variables", {})
                names[variables.get(contracts.ENV_LANE, found["Handler"])] = name
        return cls(
            cloud=cloud,
            port=port,
            deployment=deployment,
            dynamo=dynamo,
            records=DynamoRecords(dynamo, records=environment[contracts.ENV_RECORDS_TABLE], ops=ops, blobs=blobs),
            ledgers=DynamoLedgers(dynamo, JobTables(environment[contracts.ENV_RECORDS_TABLE], ops)),
            sqs=deploy.client("sqs", port),
            functions=functions,
            names=names,
        )

    def lane(self, credential: str) -> Credential:
        """Return a lane's credential; NoLane if this cloud was started without it."""
        try:
            return self.deployment.settings.credential(credential)
        except KeyError:
            raise NoLane(f"no lane {credential}: start the cloud with `--lanes tests/deployed/lanes.json`") from None

    def window(self, credential: str) -> int:
        """Return the most messages that a lease of a lane may have in flight."""
        return pace(self.lane(credential).rate, 1).window

    def queue(self, credential: str) -> str:
        """Return the URL of a lane's queue; its dead-letter queue's is this + `-dlq`."""
        name = contracts.lane_queue_name(self.deployment.settings.stage, credential)
        url: str = self.sqs.get_queue_url(QueueName=name)["QueueUrl"]
        return url

    def waiting(self, url: str) -> int:
        """Return how many messages a queue holds, those in work included."""
        wanted = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        found = self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=wanted)["Attributes"]
        return sum(int(found[name]) for name in wanted)

    @contextmanager
    def redelivering(self, credential: str, seconds: int, *, express: bool = False) -> Iterator[None]:
        """Have the pointers of a killed worker delivered again so soon meanwhile. `express`: of small jobs."""
        with self.invisible(self.queue(credential) + (contracts.EXPRESS_SUFFIX if express else ""), seconds):
            yield

    @contextmanager
    def invisible(self, url: str, seconds: int) -> Iterator[None]:
        """Have a queue's messages stay invisible for so long after a delivery meanwhile."""
        name = "VisibilityTimeout"
        before = self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[name])["Attributes"][name]
        self.sqs.set_queue_attributes(QueueUrl=url, Attributes={name: str(seconds)})
        try:
            yield
        finally:
            self.sqs.set_queue_attributes(QueueUrl=url, Attributes={name: before})

    def sweep(self) -> None:
        """Run the sweeper once, as its schedule does every minute."""
        done = self.functions.invoke(FunctionName=self.names[contracts.HANDLERS["sweep"]], Payload=b"{}")
        assert "FunctionError" not in done, done["Payload"].read()

    def environment(self, function: str) -> dict[str, str]:
        """Return a function's variables, e.g. of `api`."""
        name = self.names[contracts.HANDLERS[function]]
        found: dict[str, str] = self.functions.get_function_configuration(FunctionName=name)["Environment"]["Variables"]
        return found

    def consume(self, credential: str, *, on: bool) -> None:
        """Switch a lane's event source on or off."""
        found = self.functions.list_event_source_mappings(FunctionName=self.names[credential])["EventSourceMappings"]
        for source in found:
            self.functions.update_event_source_mapping(UUID=source["UUID"], Enabled=on)

    def workers(self, credential: str) -> dict[int, str]:
        """Return pid → start time of the living worker processes of a lane's sender: of this cloud, of this lane."""
        return self._processes(contracts.ENV_LANE, credential)

    def kill(self, credential: str) -> int:
        """`kill -9` every worker process of a lane's sender; return how many there were."""
        return sum(processes.kill(pid, born) for pid, born in self.workers(credential).items())

    @contextmanager
    def room(self, credential: str, more: int) -> Iterator[None]:
        """Let so many more invocations of a lane's sender run than its reserved concurrency, and end that afterwards.

        Invocations of the caller's own else take the places of those that bring pointers. The event source throttles
        these, and their pointers stay invisible for as long as a delivery lasts.
        """
        name = self.names[credential]
        found = self.functions.get_function_concurrency(FunctionName=name)["ReservedConcurrentExecutions"]
        self.functions.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=found + more)
        try:
            yield
        finally:
            self.functions.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=found)

    def start(self, credential: str, workers: int) -> None:
        """Have so many worker processes of a lane's sender started, by invocations that bring no work; give them room.

        On AWS one starts within 2 s. On a busy machine it takes longer.
        """
        for _ in range(workers):
            self.functions.invoke(
                FunctionName=self.names[credential], InvocationType="Event", Payload=b'{"Records": []}'
            )

    def kill_function(self, function: str) -> int:
        """`kill -9` every worker process of a function, e.g. `ingest`; return how many there were."""
        found = self._processes("AWS_LAMBDA_FUNCTION_NAME", self.names[contracts.HANDLERS[function]])
        return sum(processes.kill(pid, born) for pid, born in found.items())

    def processor_seconds(self) -> float:
        """Return what the living processes of the emulator and of its functions have taken of a processor."""
        total = 0.0
        for pid in processes.group(self._emulator()):
            with suppress(psutil.NoSuchProcess):
                times = psutil.Process(pid).cpu_times()
                total += times.user + times.system
        return total

    def _emulator(self) -> int:
        return processes.read(self.cloud.paths)[emulator.NAME].pid

    def _processes(self, variable: str, value: str) -> dict[int, str]:
        return {
            pid: born
            for pid, born in processes.group(self._emulator()).items()
            if processes.carries(pid, variable, value) and processes.carries(pid, ENV_LOCAL, str(self.cloud.paths.home))
        }


def running() -> tuple[Inside, Api, ControlClient]:
    """Return the cloud that is up from inside, its API with the demo account's key, and its simulator's control.

    Raises:
        LocalCloudError: none is up.
    """
    cloud = local_cloud.current(paths())
    port = port_of(cloud)
    return Inside.of(cloud, deploy.stacks(cloud.paths, port), port), *clients(cloud)


def clients(cloud: Cloud) -> tuple[Api, ControlClient]:
    """Return a cloud's API with the demo account's key, and its simulator's control."""
    return Api(cloud.api, cloud.env["POSTHASTE_API_KEY"]), ControlClient(cloud.env["SIMULATOR_URL"])


def port_of(cloud: Cloud) -> int:
    """Return the port of a cloud's emulator."""
    return int(cloud.env["AWS_ENDPOINT_URL"].rpartition(":")[2])
