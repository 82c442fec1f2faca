//! Names that are close to one that is not known, and how that is said.

/// Nearness of two names, from 0 to 1, from which one is suggested for the other.
const NEAR: f64 = 0.78;
/// What it adds that one of the names is a part of the other.
const PART: f64 = 0.1;
/// Most names that are suggested.
const MAX_NEAREST: usize = 3;

/// Returns the names that are close to `wanted`, best first, at most three, none that is far off. Case and what stands
/// between words do not count.
#[must_use]
pub fn nearest<'n>(wanted: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<String> {
    let fold = |text: &str| text.to_lowercase().replace(['_', '-', '.', '/', ' '], "");
    let target = fold(wanted);
    let mut scored: Vec<(f64, &str)> = names
        .into_iter()
        .map(|name| {
            let folded = fold(name);
            let part = !target.is_empty() && (folded.contains(&target) || target.contains(&folded));
            (strsim::jaro_winkler(&target, &folded) + if part { PART } else { 0.0 }, name)
        })
        .filter(|(score, _)| *score >= NEAR)
        .collect();
    scored.sort_by(|one, other| other.0.total_cmp(&one.0).then_with(|| one.1.cmp(other.1)));
    scored.into_iter().take(MAX_NEAREST).map(|(_, name)| name.to_owned()).collect()
}

/// Says which names are close, to stand behind what is not known; nothing when none is.
#[must_use]
pub fn did_you_mean(nearest: &[String]) -> String {
    match nearest {
        [] => String::new(),
        names => format!(
            " (did you mean {}?)",
            names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" or ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_names_are_found_and_far_ones_are_not() {
        let names = ["getPetById", "issues/list", "repos/get", "createIssue", "required"];
        for (wanted, expected) in [
            ("issues_list", &["issues/list"][..]),
            ("get_pet", &["getPetById"]),
            ("GETPETBYID", &["getPetById"]),
            ("requird", &["required"]),
            ("zzz", &[]),
            ("", &[]),
        ] {
            assert_eq!(nearest(wanted, names), expected, "{wanted}");
        }
        assert_eq!(nearest("ab", ["ab1", "ab2", "ab3", "ab4"]), ["ab1", "ab2", "ab3"]);
    }

    #[test]
    fn close_names_are_said_one_way() {
        for (names, expected) in
            [(&[][..], ""), (&["a"], " (did you mean `a`?)"), (&["a", "b"], " (did you mean `a` or `b`?)")]
        {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(did_you_mean(&names), expected);
        }
    }
}
