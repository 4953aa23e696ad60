"""Errors a report raises on purpose. Each names what is wrong and what to do about it."""


class ReportError(Exception):
    """A report cannot be made from what was given."""


class QuarterError(ReportError):
    """The quarter is not written like 2026Q3."""


class YearError(ReportError):
    """The fiscal year is not written like 2026, or nothing of it is published."""


class PublicationError(ReportError):
    """The published file is absent, or not one of ours."""


class ModelError(ReportError):
    """The publication has no such model."""


class FontError(ReportError):
    """A font of the PDF is absent, or its file is another than the one that reports are set in."""


class WindowError(ReportError):
    """The dates are not dates, are in the wrong order, or no run ended between them."""
