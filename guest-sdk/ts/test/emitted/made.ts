import { type Json, type Response, Rote } from "@rote/sdk";

interface Params {
  email: string;
}

export default async function main(params: Params): Promise<Json> {
  const rote = await Rote.workspace("run");
  const crm = rote.adapter("crm");
  const tracker = rote.adapter("tracker");

  const [contacts, issues] = await Promise.all([
    crm.call("listContacts", { email: params.email }),
    tracker.call("listIssues"),
  ]);

  let contact: Response | undefined;
  let task: Response | undefined;
  let note: Response | undefined;
  if (read(contacts, ".items | length") === 0) {
    [contact, task] = await Promise.all([
      crm.call("createContact", { email: params.email }),
      crm.call("createTask"),
    ]);
    // Typed by hand for @4: text.
    note = await crm.call("addNote", {
      contact_id: one(contact, ".id"),
      text: "new",
      task: one(task, ".id"),
    });
  }

  const updatedContact = await crm.call("updateContact", {
    contact_id: contact !== undefined ? one(contact, ".id") : one(contacts, ".items[0].id"),
    issues: one(issues, ".items | length"),
  });

  return note !== undefined ? note.json() : updatedContact.json();
}

/** Returns the one output of a jq program; null is not one. */
function one(response: Response, program: string): Json {
  const value = read(response, program);
  if (value === null) throw new Error(`\`${program}\` of @${response.id} is null`);
  return value;
}

/** Returns the one output of a jq program. */
function read(response: Response, program: string): Json {
  const outputs = response.query(program);
  const [value] = outputs;
  if (outputs.length !== 1 || value === undefined) {
    throw new Error(`\`${program}\` of @${response.id} has ${outputs.length} outputs, one is needed`);
  }
  return value;
}
