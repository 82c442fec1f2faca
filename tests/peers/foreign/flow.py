"""The flow of the check in Python: one call, one query, one line."""

import json

import wit_world
from wit_world.imports import clock, output, query, tools


class WitWorld(wit_world.WitWorld):
    def describe(self) -> str:
        return json.dumps({"kind": "component"})

    def run(self, parameters: str) -> str:
        project = json.loads(parameters)["project"]
        call = tools.ToolCall(adapter="tracker", tool="listIssues", arguments=json.dumps({"project": project}))
        answer = tools.call(call)
        count = json.loads(query.response(answer.id, "length")[0])
        output.human(f"{project} has {count} issues")
        return json.dumps({"count": count, "later": clock.now() > 0})
