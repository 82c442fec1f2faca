//! Parameters in programs on the item of a loop: such a program has no variables, so what it makes is made where the items are.

use rote_plan::{Expression, Onward};

use super::super::along::{Along, of_item};
use super::super::draft::DraftStep;
use super::super::program::string_literals;
use super::Binder;

impl Binder<'_, '_> {
    /// Puts the programs of a loop that have the value as a text to those of its items, which may have variables. Left as they are
    /// where another loop takes something of these items, where the items are those of another loop, and where a condition takes
    /// something of the item: what the parameter does not reach is told then, as of other programs.
    pub(super) fn with_the_items(&mut self, at: usize, value: &str) {
        let goes_along = |step: &DraftStep, id: &str| step.along.as_ref().is_some_and(|along| takes_items(along, id));
        let step = &self.draft.steps[at];
        let shared = self.draft.steps.iter().any(|other| goes_along(other, &step.id));
        let Some(Expression::From(items)) = step.for_each.as_ref().filter(|_| !shared && step.along.is_none()) else {
            return;
        };
        let in_conditions = step.others().iter().any(|(_, one)| !programs(one).is_empty());
        let mut made: Vec<String> = Vec::new();
        for program in programs(&step.arguments) {
            let has = string_literals(&program).iter().any(|literal| literal.text == value);
            if has && !made.contains(&program) {
                made.push(program);
            }
        }
        if made.is_empty() || in_conditions {
            return;
        }
        // In a list, so that a program that gives nothing takes no item away.
        let members = made.iter().enumerate().map(|(at, program)| format!(", made_{}: [{program}]", at + 1));
        let mut items = items.clone();
        items.jq = format!("{} | {{item: .{}}}", items.jq, members.collect::<String>());
        let step = &mut self.draft.steps[at];
        step.for_each = Some(Expression::From(items));
        step.arguments.visit_mut(&mut |_, one| {
            if let Expression::Item(program) = one {
                *program = match made.iter().position(|known| known == program) {
                    Some(at) => format!(".made_{}[]", at + 1),
                    None => of_item(program),
                };
            }
            Onward::Into
        });
    }
}

/// Whether what goes along with a loop takes something of its items, and not its answers alone.
fn takes_items(along: &Along, id: &str) -> bool {
    along.only().is_none() && along.steps().any(|step| step == id)
}

/// The programs on the item in an expression.
pub(super) fn programs(expression: &Expression) -> Vec<String> {
    let mut found = Vec::new();
    expression.visit(&mut |_, one| {
        if let Expression::Item(program) = one {
            found.push(program.clone());
        }
        Onward::Into
    });
    found
}
