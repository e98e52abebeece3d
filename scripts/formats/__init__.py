"""Sessions written in other formats, for `scripts/code-mode-check` and `scripts/formats-check`."""
