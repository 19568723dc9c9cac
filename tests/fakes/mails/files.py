"""Files of mails in memory."""

from shared.ports import FileChanged, FileFacts
from tests.fakes.files import FakeFiles


class FakeMailFiles(FakeFiles):
    """`ports.MailFiles` in memory."""

    def copy(self, name: str, *, etag: str, to: str) -> FileFacts:
        def made() -> FileFacts:
            facts = self._facts(name)
            if facts is None or facts.etag != etag:
                raise FileChanged(name)
            self.items[to] = self.items[name]
            return facts

        return self._tap("files.copy", made)
