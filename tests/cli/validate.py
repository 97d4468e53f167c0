# SPDX-License-Identifier: Apache-2.0
"""validate.py SCHEMA DOCUMENT: fails, saying why, unless DOCUMENT is one JSON text that fits."""

import json
import sys

import jsonschema

with open(sys.argv[1], encoding="utf-8") as file:
    schema = json.load(file)
with open(sys.argv[2], encoding="utf-8") as file:
    document = json.load(file)
jsonschema.Draft7Validator.check_schema(schema)
errors = list(jsonschema.Draft7Validator(schema).iter_errors(document))
for error in errors[:5]:
    print(f"{error.json_path}: {error.message[:300]}")
    for cause in error.context[:5]:
        print(f"  {cause.json_path}: {cause.message[:300]}")
sys.exit(1 if errors else 0)
