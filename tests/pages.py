"""Parts of a report, rendered alone."""

from jaxids.report import markup


def rendered(name, data):
    """What the template of a section makes of its data."""
    return str(markup.TEMPLATES.get_template(f"{name}.html").module.section(data))
