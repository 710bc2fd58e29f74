"""From token bytes to text that can be shown: whole characters, and never the beginning of a stop text."""

from __future__ import annotations

import codecs


class TextBuffer:
    """Decodes an answer byte by byte and looks out for stop texts.

    Attributes:
        text: what has been decoded, cut before a stop text.
        stopped: a stop text was found; nothing is added any more.
    """

    def __init__(self, stops: tuple[str, ...] = ()) -> None:
        self.text = ""
        self.stopped = False
        self._stops = stops
        self._longest = max(map(len, stops), default=0)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._shown = 0

    def feed(self, data: bytes) -> str:
        """Add bytes; return the text that has become final."""
        return self._add(self._decoder.decode(data))

    def close(self) -> str:
        """End the text; return what was held back. Half a character becomes U+FFFD."""
        return self._add(self._decoder.decode(b"", final=True), final=True)

    def _add(self, new: str, *, final: bool = False) -> str:
        if self.stopped:
            return ""
        searched = max(0, len(self.text) - self._longest + 1)
        self.text += new
        found = [at for at in (self.text.find(stop, searched) for stop in self._stops) if at >= 0]
        if found:
            self.text, self.stopped = self.text[: min(found)], True
        end = len(self.text) if final or self.stopped else len(self.text) - self._held()
        shown, self._shown = self.text[self._shown : end], max(self._shown, end)
        return shown

    def _held(self) -> int:
        """Return the length of the longest end of the text that may grow into a stop text."""
        sizes = range(min(self._longest - 1, len(self.text)), 0, -1)
        return next((n for n in sizes if any(stop.startswith(self.text[-n:]) for stop in self._stops)), 0)
