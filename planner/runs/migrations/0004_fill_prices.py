"""The date of prices of older runs, from their bodies."""

import json
from datetime import date

from django.db import migrations


def fill(apps, schema_editor):
    runs = apps.get_model("runs", "Run")
    for run in runs.objects.filter(priced_at=None).only("pk", "body").order_by("pk").iterator(chunk_size=100):
        runs.objects.filter(pk=run.pk).update(priced_at=date.fromisoformat(json.loads(run.body)["priced_at"]))


class Migration(migrations.Migration):
    dependencies = [("runs", "0003_prices_and_versions")]
    operations = [migrations.RunPython(fill, migrations.RunPython.noop, elidable=True)]
