# SPDX-License-Identifier: Apache-2.0
"""The app."""

from django.apps import AppConfig


class RowlockConfig(AppConfig):
    name = "rowlock.django"
    label = "rowlock"
    verbose_name = "rowlock"
