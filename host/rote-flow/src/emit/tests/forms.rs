//! Plans of each form.

use serde_json::{Value, json};

use super::Form;

/// All of them.
pub(super) fn forms() -> Vec<Form> {
    vec![
        given(),
        repeated(),
        found("found", json!([{"id": "ct_1"}])),
        found("made", json!([])),
        asked(),
        absent(),
        paged(),
        waited(),
        beside(),
    ]
}

pub(super) fn from(step: &str, jq: &str) -> Value {
    json!({"$from": {"step": step, "jq": jq}})
}

pub(super) fn step(id: &str, call: &str, arguments: Value, more: Value) -> Value {
    let (adapter, tool) = call.split_once('/').unwrap();
    let mut step = json!({"id": id, "adapter": adapter, "tool": tool, "arguments": arguments});
    for (key, value) in more.as_object().unwrap() {
        step[key] = value.clone();
    }
    step
}

/// Parameters of all types, in arguments, in text and in programs.
fn given() -> Form {
    let issues = json!({"items": [{"id": 7, "title": "Crash", "n": 1}, {"id": 8, "title": "it's \"so\"", "n": 2.5}]});
    Form {
        name: "given",
        parameters: json!({
            "type": "object",
            "properties": {
                "title": {"type": "string"},
                "priority": {"type": "string", "enum": ["low", "high"]},
                "pageSize": {"type": "integer"},
                "share": {"type": "number"},
                "labels": {"type": "array", "items": {"type": "string"}},
                "estimate": {"type": "object"},
                "due-date": {"type": "string"},
                "type": {"type": ["string", "null"]},
                "note": {"type": ["string", "null"]},
            },
            "required": ["title", "priority", "pageSize", "share", "type"],
        }),
        plan: json!({
            "steps": [
                step("s1", "tracker/listIssues", json!({"project": "atlas", "size": {"$param": "pageSize"}}), json!({})),
                step("s2", "tracker/createIssue", json!({
                    "title": {"$text": ["Copy of ", {"$param": "title"}, " `${1}` {", {"$param": "share"}, "} ",
                        from("s1", "[.items[].id]")]},
                    "key": {"$text": [from("s1", ".items | length")]},
                    "parent": {"$from": {"step": "s1", "jq": ".items[] | select(.title == $title) | .id",
                        "with": {"title": {"$param": "title"}}}},
                    "others": {"$from": {"step": "s1", "jq": ".items[].n | select(. >= $n) # all",
                        "each": true, "with": {"n": from("s1", ".items[0].n")}}},
                    "priority": {"$param": "priority"},
                    "labels": {"$param": "labels"},
                    "more": {"due": {"$param": "due-date"}, "estimate": {"$param": "estimate"}, "odd key": [1, 5_000_000_000_i64, 0.5, null]},
                    "type": {"$param": "type"},
                    "note": {"$default": [{"$param": "note"}, "none"]},
                    "share": {"$param": "share"},
                }), json!({})),
            ],
            "result": {"id": from("s2", ".id"), "note": {"$param": "note"}, "none": from("s2", ".missing")},
        }),
        answers: json!({"tracker/listIssues": issues, "tracker/createIssue": {"id": 9}}),
        runs: vec![
            json!({"title": "Crash", "priority": "low", "pageSize": 10, "share": 0.5, "type": null}),
            json!({"title": "it's \"so\"", "priority": "high", "pageSize": 3, "share": 2.5, "type": "bug", "note": null,
                "labels": ["a"], "estimate": {"points": 3}, "due-date": "2026-06-01"}),
        ],
    }
}

/// Loops in order and at once, over items, over a parameter, over what another loop gave.
fn repeated() -> Form {
    Form {
        name: "repeated",
        parameters: json!({
            "type": "object",
            "properties": {"names": {"type": "array", "items": {"type": "string"}}, "body": {"type": "string"}},
            "required": ["names", "body"],
        }),
        plan: json!({
            "steps": [
                step("s1", "tracker/listIssues", json!({}), json!({})),
                step("s2", "tracker/getIssue", json!({"issue_id": {"$item": ".id"}}), json!({
                    "for_each": {"$from": {"step": "s1", "jq": ".items[] | select(.state == \"open\")", "each": true}},
                })),
                step("s3", "tracker/addComment", json!({
                    "issue_id": {"$item": ".owner.id"},
                    "body": {"$text": [{"$param": "body"}, ", ", {"$item": ".labels | join(\"+\")"}, " #", {"$index": true}]},
                    "all": {"$item": "."},
                }), json!({"for_each": from("s2", "."), "max_concurrency": 1})),
                step("s4", "tracker/invite", json!({"name": {"$item": "."}, "of": from("s3", ".id")}), json!({
                    "for_each": {"$param": "names"}, "max_concurrency": 1,
                })),
            ],
            "result": {"comments": from("s3", ".id"), "tags": {"$from": {"step": "s3", "jq": ".tags[]", "each": true}}},
        }),
        answers: json!({
            "tracker/listIssues": {"items": [{"id": 1, "state": "open"}, {"id": 2, "state": "done"}, {"id": 3, "state": "open"}]},
            "tracker/getIssue": {"owner": {"id": 5}, "labels": ["x", "y"]},
            "tracker/addComment": {"id": 6, "tags": ["t", "u"]},
            "tracker/invite": {},
        }),
        runs: vec![json!({"names": ["ann", "ben"], "body": "Done"}), json!({"names": [], "body": "Over"})],
    }
}

/// A thing that is found, else made.
fn found(name: &'static str, contacts: Value) -> Form {
    Form {
        name,
        parameters: json!({"type": "object", "properties": {"email": {"type": "string"}}, "required": ["email"]}),
        plan: json!({
            "steps": [
                step("s1", "crm/listContacts", json!({"email": {"$param": "email"}}), json!({})),
                step("s2", "tracker/listIssues", json!({}), json!({})),
                step("s3", "crm/createContact", json!({"email": {"$param": "email"}}), json!({
                    "when": {"compare": {"left": from("s1", ".items | length"), "op": "eq", "right": 0}},
                })),
                // Made at once with s3, and looked at by s4 alone.
                step("s6", "crm/createTask", json!({}), json!({
                    "when": {"compare": {"left": from("s1", ".items | length"), "op": "eq", "right": 0}},
                })),
                step("s4", "crm/addNote", json!({"contact_id": from("s3", ".id"), "text": "new", "task": from("s6", ".id")}), json!({})),
                step("s5", "crm/updateContact", json!({
                    "contact_id": {"$default": [from("s3", ".id"), from("s1", ".items[0].id")]},
                    "issues": from("s2", ".items | length"),
                }), json!({"after": ["s4"]})),
            ],
            "result": {"$default": [from("s4", "."), from("s5", ".")]},
        }),
        answers: json!({
            "crm/listContacts": {"items": contacts},
            "crm/createContact": {"id": "ct_9"},
            "crm/addNote": {"note": true},
            "crm/createTask": {"id": "tk_3"},
            "crm/updateContact": {"id": "ct_1"},
            "tracker/listIssues": {"items": [1, 2]},
        }),
        runs: vec![json!({"email": "ada@acme.test"})],
    }
}

/// Conditions of every kind.
fn asked() -> Form {
    let compare = |left: Value, op: &str, right: Value| json!({"compare": {"left": left, "op": op, "right": right}});
    let exists = |left: Value| json!({"compare": {"left": left, "op": "exists"}});
    // As crystallize has it, a write starts behind the one before it.
    let after = |step: &str, condition: Value| json!({"when": condition, "needs": ["s1"], "after": [step]});
    let all = json!({"all": [
        compare(from("s1", ".state"), "ne", json!("open")),
        {"any": [compare(from("s1", ".n"), "gt", json!(2)), compare(from("s1", ".title"), "le", json!({"$param": "title"}))]},
        {"not": exists(from("s1", ".gone"))},
        compare(from("s1", ".ok"), "eq", json!(true)),
    ]});
    Form {
        name: "asked",
        parameters: json!({
            "type": "object",
            "properties": {"title": {"type": "string"}, "rest": {"type": "integer"}},
            "required": ["title"],
        }),
        plan: json!({
            "steps": [
                step("s1", "tracker/getIssue", json!({"issue_id": 7}), json!({})),
                step("s2", "tracker/closeIssue", json!({}), after("s1", all.clone())),
                step("s3", "tracker/addComment", json!({"body": "both"}), after("s1", all)),
                step("s4", "tracker/addLabels", json!({}), after("s3", compare(from("s1", ".labels"), "contains", json!("bug")))),
                step("s5", "tracker/setRest", json!({"rest": {"$param": "rest"}}), after("s4", exists(json!({"$param": "rest"})))),
                step("s6", "tracker/addLink", json!({"to": from("s2", ".id")}), json!({"after": ["s5"]})),
                step("s7", "tracker/open", json!({}), json!({
                    "when": {"not": exists(from("s2", ".id"))}, "after": ["s6"],
                })),
                step("s8", "tracker/same", json!({}), after("s7", compare(from("s1", ".labels"), "eq", from("s1", ".marks")))),
                step("s9", "tracker/none", json!({}), after("s8", compare(json!({"$param": "rest"}), "eq", json!(null)))),
                step("s10", "tracker/never", json!({}), after("s9", json!({"any": []}))),
            ],
            "result": [from("s2", ".id")],
        }),
        answers: json!({
            "tracker/getIssue": {"state": "done", "n": 1.0, "title": "b", "ok": true, "labels": ["bug", {"a": 1, "b": 2}],
                "marks": ["bug", {"b": 2, "a": 1.0}]},
            "tracker/closeIssue": {"id": 4},
        }),
        runs: vec![json!({"title": "c"}), json!({"title": "a", "rest": 0})],
    }
}

/// Parameters that a run may be without, where a value is needed and where it is not.
fn absent() -> Form {
    let bound =
        json!({"$from": {"step": "s1", "jq": "map(select(.k == $k)) | length", "with": {"k": {"$param": "any"}}}});
    Form {
        name: "absent",
        parameters: json!({
            "type": "object",
            "properties": {
                "any": {}, "first": {"type": "string"}, "second": {"type": "string"}, "size": {"type": "integer"},
                "items": {"type": "array"},
            },
            "required": ["any"],
        }),
        plan: json!({
            "steps": [
                step("s1", "shop/list", json!({
                    "either": {"$default": [{"$param": "first"}, {"$param": "second"}]},
                    "text": {"$text": ["size ", {"$param": "size"}]},
                    "list": [{"$param": "size"}, {"deep": {"$param": "second"}}],
                }), json!({})),
                step("s2", "shop/get", json!({"item": {"$item": "."}, "more": {"first": {"$param": "first"}}}), json!({
                    "for_each": {"$param": "items"}, "max_concurrency": 1,
                })),
                step("s3", "shop/count", json!({"count": bound}), json!({
                    "when": {"compare": {"left": from("s2", ".ok"), "op": "exists"}}, "needs": ["s2"],
                })),
            ],
            "result": {"$param": "first"},
        }),
        answers: json!({"shop/list": [{"k": 1}, {"k": 2}, {"k": 1}], "shop/get": {"ok": true}, "shop/count": {}}),
        runs: vec![
            json!({"any": 1, "size": 3, "items": [{"a": 1}, "b"]}),
            json!({"any": 2, "size": 0, "second": "s", "items": []}),
            json!({"any": null, "size": 0, "first": "f", "items": [1]}),
            json!({"any": 1}),
            json!({"any": 1, "size": 1}),
        ],
    }
}

/// Lists that are read page by page: each item of one, a part of it with a variable, all of it; a counted one; an only page.
fn paged() -> Form {
    let named = json!({"$from": {"step": "s1", "jq": ".items | map(select(.id == $id)) | length", "with": {"id": {"$param": "id"}}}});
    let page = |items: Value, next: Value| json!({"items": items, "next": next});
    Form {
        name: "paged",
        parameters: json!({
            "type": "object",
            "properties": {"id": {"type": "string"}, "state": {"type": "string"}},
            "required": ["id"],
        }),
        plan: json!({
            "steps": [
                step("s1", "shop/listOrders", json!({"state": {"$param": "state"}, "size": 2}), json!({
                    "pages": {"argument": "cursor", "next": ".next", "items": ".items"},
                })),
                step("s2", "shop/getOrder", json!({"id": {"$item": ".id"}}), json!({
                    "for_each": {"$from": {"step": "s1", "jq": ".items[] | select(.n > 1)", "each": true}}, "max_concurrency": 1,
                })),
                step("s3", "shop/count", json!({"count": from("s1", ".items | length"), "named": named}), json!({
                    "when": {"compare": {"left": from("s1", ".items[0]"), "op": "exists"}}, "needs": ["s1"],
                    "after": ["s2"],
                })),
                step("s4", "shop/listNotes", json!({}), json!({
                    "pages": {"argument": "page", "next": ".next", "items": ".items", "count": {"from": 1, "by": 1}}, "when":
                    {"compare": {"left": from("s1", ".items | length"), "op": "gt", "right": 2}},
                    "after": ["s3"],
                })),
                step("s5", "shop/addNote", json!({"after": from("s4", ".items[-1].text")}), json!({})),
                step("s6", "shop/listTags", json!({}), json!({"pages": {"next": ".next", "items": ".items"}, "after": ["s5"]})),
            ],
            "result": {"orders": from("s1", "."), "next": from("s1", ".next"), "tags": from("s6", ".items")},
        }),
        answers: json!({
            "shop/listOrders": {"$in_order": [
                page(json!([{"id": "a", "n": 1}, {"id": "b", "n": 2}]), json!("c2")),
                page(json!([]), json!("c3")),
                page(json!([{"id": "c", "n": 3}]), json!(null)),
            ]},
            "shop/listNotes": {"$in_order": [
                page(json!([{"text": "old"}]), json!(true)),
                page(json!([{"text": "new"}]), json!("")),
            ]},
            "shop/listTags": page(json!(["red"]), json!(false)),
            "shop/getOrder": {},
            "shop/count": {},
            "shop/addNote": {},
        }),
        runs: vec![json!({"id": "b", "state": "open"}), json!({"id": "z"})],
    }
}

/// A thing is read for each item, and something is made for each of the answers, and for each with its item.
fn beside() -> Form {
    let base = "[.items[] | select(.n > 1)] as $items | range($items | length) as $at";
    let items = json!({"$from": {
        "step": "s1",
        "jq": format!("{base} | {{s2: $s2[$at], item: $items[$at]}}"),
        "each": true,
        "with": {"s2": from("s2", ".owner")},
    }});
    Form {
        name: "beside",
        parameters: json!({"type": "object", "properties": {}, "required": []}),
        plan: json!({
            "steps": [
                step("s1", "shop/listOrders", json!({}), json!({})),
                step("s2", "shop/getOrder", json!({"id": {"$item": ".id"}}), json!({
                    "for_each": {"$from": {"step": "s1", "jq": ".items[] | select(.n > 1)", "each": true}},
                })),
                step("s3", "shop/tellOwner", json!({"to": {"$item": ".owner"}}), json!({
                    "for_each": from("s2", "."), "max_concurrency": 1,
                })),
                step("s4", "shop/addNote", json!({"order": {"$item": ".item.id"}, "text": {"$text": ["for ", {"$item": ".s2"}]}}), json!({
                    "for_each": items, "max_concurrency": 1, "needs": ["s3"],
                })),
            ],
            "result": from("s4", ".id"),
        }),
        answers: json!({
            "shop/listOrders": {"items": [{"id": "a", "n": 2}, {"id": "b", "n": 1}, {"id": "c", "n": 3}]},
            "shop/getOrder": {"$in_order": [{"owner": "Ada"}, {"owner": "Cy"}]},
            "shop/tellOwner": {},
            "shop/addNote": {"$in_order": [{"id": 1}, {"id": 2}]},
        }),
        runs: vec![json!({})],
    }
}

/// A state that is waited for, once with an argument that may be left out and on a condition.
fn waited() -> Form {
    let until = |most: u32| json!({"until": {"jq": ".status == \"done\"", "pause": 2_000, "most": most}});
    let mut later = until(2);
    later["until"]["never"] = json!(".status == \"lost\"");
    later["when"] = json!({"compare": {"left": from("s2", ".parts"), "op": "gt", "right": 1}});
    Form {
        name: "waited",
        parameters: json!({
            "type": "object",
            "properties": {"id": {"type": "string"}, "view": {"type": "string"}},
            "required": ["id"],
        }),
        plan: json!({
            "steps": [
                step("s1", "shop/startExport", json!({"id": {"$param": "id"}}), json!({})),
                step("s2", "shop/getExport", json!({"export": from("s1", ".id"), "view": {"$param": "view"}}), until(5)),
                step("s3", "shop/getArchive", json!({"export": from("s1", ".id")}), later),
                step("s4", "shop/publish", json!({"url": from("s2", ".url")}), json!({"after": ["s3"]})),
            ],
            "result": from("s2", ".parts"),
        }),
        answers: json!({
            "shop/startExport": {"id": "e1"},
            "shop/getExport": {"$in_order": [
                {"status": "queued"},
                {"status": "running"},
                {"status": "done", "url": "u", "parts": 2},
            ]},
            "shop/getArchive": {"$in_order": [{"status": "running"}, {"status": "done"}]},
            "shop/publish": {},
        }),
        runs: vec![json!({"id": "a"}), json!({"id": "b", "view": "all"})],
    }
}
