# SPDX-License-Identifier: Apache-2.0
"""Installs rowlock's schema, if it is missing."""

from typing import Any

from django.db import migrations

from rowlock import install


def forwards(_: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor in ("postgresql", "mysql"):  # others have no functions
        install(schema_editor.connection)


class Migration(migrations.Migration):
    atomic = False  # the text has transactions of its own, on a session of its own

    # Backwards it leaves the schema, because other programs of the farm may use it.
    operations = [migrations.RunPython(forwards, migrations.RunPython.noop)]
