//! Tables for a person: no borders, columns two blanks apart, cells in one line each; what is too wide for a terminal is
//! broken where it is shown.

use comfy_table::{ContentArrangement, Table, TableStyle};

use rote_types::clean_line;

use crate::render::units::clip;

/// Most characters of a cell: a reason is there as a whole, the page of an API that fails is not.
const MAX_CELL: usize = 1_000;

/// Returns a table with a head; an empty one when there are no rows.
#[must_use]
pub fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut table = Table::new();
    table.load_style(TableStyle::new()).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(head.iter().map(|name| name.to_uppercase()));
    for row in rows {
        table.add_row(row.iter().map(|cell| clip(cell, MAX_CELL)));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    let lines: Vec<String> = table.to_string().lines().map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n")
}

/// Returns `name  value` lines with the values aligned, leaving out empty ones.
#[must_use]
pub fn facts(rows: &[(&str, String)]) -> String {
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let shown = rows.iter().filter(|(_, value)| !value.is_empty());
    shown
        .map(|(name, value)| format!("  {name:width$}  {}", clean_line(value, usize::MAX)))
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_have_no_borders() {
        let rows = vec![vec!["a".to_owned(), "first".to_owned()], vec!["long".to_owned(), "second".to_owned()]];
        assert_eq!(table(&["id", "name"], &rows), "ID    NAME\na     first\nlong  second");
        assert_eq!(table(&["id"], &[]), "");
    }

    #[test]
    fn facts_leave_out_what_is_not_known() {
        assert_eq!(facts(&[("a", "1".to_owned()), ("long", String::new())]), "  a     1");
    }
}
