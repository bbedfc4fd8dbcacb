"""A bound on files that browsers send: Django itself stores any size on disk before a view is asked."""

from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.core.files.uploadhandler import FileUploadHandler, SkipFile

MAX_FILE_BYTES = 33 << 20
MAX_BODY_BYTES = 8 * MAX_FILE_BYTES


class BoundedUpload(FileUploadHandler):
    """Drops a file once it is larger than 33 MiB: the view gets none, and `request.dropped_file` is its name.

    A body that says that it is larger than 264 MiB is refused unread.
    """

    def handle_raw_input(
        self,
        input_data: Any,
        META: Any,  # noqa: N803 - Django's name
        content_length: int,
        boundary: Any,
        encoding: str | None = None,
    ) -> None:
        if content_length > MAX_BODY_BYTES:
            raise RequestDataTooBig(f"A body has at most {MAX_BODY_BYTES} bytes.")

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        super().new_file(*args, **kwargs)
        self._seen_bytes = 0

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes:
        self._seen_bytes += len(raw_data)
        if self._seen_bytes > MAX_FILE_BYTES:
            if self.request is not None:
                self.request.dropped_file = self.file_name  # type: ignore[attr-defined]
            raise SkipFile
        return raw_data

    def file_complete(self, file_size: int) -> None:
        return None
