//! The formula that ranks: how well each tool of an index fits an intent, from 0 to 1.
//!
//! What a tool covers of the intent is weighed by how rare its words are among the tools, and by where they stand.
//! That is lowered when the tool does something else than is wanted, and when it says much that nobody asked for.
//! Where the best scores too little, nothing fits, and what comes nearest is told apart. What is wanted to be read is
//! never answered with what destroys.

use rote_types::{Access, Method};

use crate::fields::{ASKED, NAME, PATH, RESOURCE, TITLE};
use crate::file::{Entry, Index, Stem};
use crate::intent::{Intent, Term};
use crate::near::{LEAST_MISSPELT, is_one_edit};
use crate::text::{split_words, stem};
use crate::vocabulary::{Deed, Vocabulary};
use crate::{Answer, Found, MOST_NEAR};

/// Below this score nothing fits: too little of what was said is known, or too much else comes with it.
const FITS: f32 = 0.27;
/// Below this score what does not fit is not even near.
const NEAR: f32 = 0.03;
/// What at least has to be said where there is no verb: `who` alone says nothing.
const LEAST_SAID: f32 = 0.7;
/// Hits below this share of the best one's score are noise.
const WITH_THE_BEST: f32 = 0.25;
/// What a misspelt word counts.
const MISSPELT: f32 = 0.8;
/// What a word counts that an id begins with, and the least letters of such a beginning.
const BEGUN: f32 = 0.9;
const LEAST_PREFIX: usize = 3;
/// How much the rarity of a word counts: the rest every word has.
const RARITY: f32 = 0.75;
/// How much of that counts between the forms of one word.
const FORM_RARITY: f32 = 0.4;
/// What a word that no tool has counts, and one that may be somebody's name.
const UNKNOWN: f32 = 0.63;
const UNKNOWN_NAME: f32 = 0.15;
/// What the object of an intent counts more where it is the resource of a path, and any word that name and title have.
const IS_RESOURCE: f32 = 0.2;
const IS_TITLE: f32 = 0.05;
/// What a word counts more behind which somebody says which one, where the path asks for that.
const IS_ASKED: f32 = 0.2;
/// What is left where a tool does not do what is wanted, or has nothing of a verb that says much.
const UNDONE: f32 = 0.4;
const MISSED: f32 = 0.5;
/// The same where only its arguments or its text speak of that verb.
const MENTIONED: f32 = 0.8;
/// From where on a verb is found in a tool, and from where on it says much.
const FOUND_VERB: f32 = 0.3;
const TELLING_VERB: f32 = 1.0;
/// What is left where something is to be taken away and only the arguments of a tool speak of that, and where a tool takes away
/// and nothing that was said does.
const UNNAMED: f32 = 0.6;
const UNDOING: f32 = 0.6;
/// What a tool can lose by saying other things than the intent, for each segment of its path, and by its age.
const OTHER_WORDS: f32 = 0.54;
const DEEP: f32 = 0.012;
/// What a reading of many loses where one is wanted.
const ONE_OF_MANY: f32 = 0.92;
const DEPRECATED: f32 = 0.7;
/// What a tool counts more that is about whoever calls it, where somebody speaks of that.
const IS_OWN: f32 = 1.12;
/// Stems of names and paths of such tools.
const OWN: [&str; 5] = ["authent", "me", "current", "self", "myself"];

/// Stems of words by which a tool takes something away.
const TAKES_AWAY: [&str; 6] = ["delet", "remov", "destroy", "purg", "eras", "revok"];

/// One tool that shares a word with the intent.
struct Ranked<'t, 'i> {
    score: f32,
    tool: &'t Entry<'i>,
    /// It destroys, and nobody asked for that.
    last: bool,
}

/// Where a tool has a verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Verb {
    /// Nowhere, or among its arguments.
    Beside,
    /// Its name, its title or its path has a word that stands for the verb.
    Head,
    /// It is named after the verb itself.
    Own,
}

/// What an index has of an intent.
struct Looked {
    /// Of each tool where it has the verb.
    verbs: Vec<Verb>,
    /// Of each tool what it has of each term.
    known: Vec<f32>,
    /// What each term counts here.
    weights: Vec<f32>,
    /// What each stem of the index says of the intent.
    said: Vec<f32>,
}

/// Returns the tools that fit, best first, at most `limit`, or else the nearest; `None` when the index is not whole.
pub(crate) fn rank(intent: &Intent, index: &Index<'_>, limit: usize) -> Option<Answer<Found>> {
    let named = index.tools.iter().find(|tool| tool.name == intent.whole);
    let mut ranked = covering(intent, index)?;
    ranked.sort_by(|one, other| {
        let simple = |ranked: &Ranked<'_, '_>| (ranked.tool.required, ranked.tool.depth);
        (one.last.cmp(&other.last))
            .then_with(|| other.score.total_cmp(&one.score))
            .then_with(|| simple(one).cmp(&simple(other)))
            .then_with(|| one.tool.name.cmp(other.tool.name))
    });
    let best = ranked.first().filter(|best| !best.last);
    let kept = best.map_or(f32::INFINITY, |best| best.score * WITH_THE_BEST);
    let found = |tool: &Entry<'_>, score: f32| Found { tool: tool.name.to_owned(), score };
    let fits = best.is_some_and(|best| best.score >= FITS);
    let near = |one: &&Ranked<'_, '_>| !one.last && one.score >= NEAR.max(kept);
    if !fits && named.is_none() {
        let near = ranked.iter().filter(near).take(limit.min(MOST_NEAR));
        return Some(Answer { fits: Vec::new(), near: near.map(|one| found(one.tool, one.score)).collect() });
    }
    let others = ranked.iter().filter(|one| fits && one.score >= kept);
    let others = others.filter(|one| named.is_none_or(|named| named.name != one.tool.name));
    // What destroys stands behind what a question may mean, and so scores no more.
    let mut least: f32 = 0.99;
    let others = others.map(|one| {
        least = least.min(one.score);
        found(one.tool, least)
    });
    let fits = named.map(|tool| found(tool, 1.0)).into_iter().chain(others).take(limit).collect();
    Some(Answer { fits, near: Vec::new() })
}

/// Weighs every tool that shares a word with the intent.
fn covering<'t, 'i>(intent: &Intent, index: &'t Index<'i>) -> Option<Vec<Ranked<'t, 'i>>> {
    let looked = look(intent, index)?;
    let spoken = intent.terms.iter().any(|term| term.verb);
    let total = looked.weights.iter().sum::<f32>().max(if spoken { f32::MIN_POSITIVE } else { LEAST_SAID });
    if intent.terms.is_empty() {
        return Some(Vec::new());
    }
    let tools = index.tools.iter().zip(looked.known.chunks_exact(intent.terms.len())).zip(&looked.verbs);
    let shares = tools.filter(|((_, known), _)| known.iter().any(|one| *one > 0.0));
    let weigh = |((tool, known), verb): ((&'t Entry<'i>, &[f32]), &Verb)| {
        let verbs = || intent.terms.iter().zip(known).filter(|(term, _)| term.verb);
        let mut covered = known.iter().zip(&looked.weights).map(|(known, weight)| known * weight).sum::<f32>() / total;
        let telling = || verbs().filter(|(term, _)| term.weight >= TELLING_VERB).map(|(_, known)| *known);
        if telling().any(|known| known <= 0.0) {
            covered *= MISSED;
        } else if telling().any(|known| known < FOUND_VERB) {
            covered *= MENTIONED;
        }
        let named = verbs().any(|(_, known)| *known >= FOUND_VERB);
        let says = named && tool.access.changes();
        if !does(intent.deed, tool) && !says {
            covered *= UNDONE;
        }
        let score = covered * fit(intent, tool, *verb) * shape(intent, tool, &looked.said, index);
        let wanted = intent.deed == Deed::Destroy || (intent.deed != Deed::Read && named && !undoes(intent, tool.name));
        Ranked { score, tool, last: tool.access == Access::Destroy && !wanted }
    };
    Some(shares.map(weigh).collect())
}

/// Whether something takes away by its name, and nothing that was said does: `react` is not `reactions_remove`.
pub(crate) fn undoes(intent: &Intent, name: &str) -> bool {
    let says = |stem: &str| intent.terms.iter().any(|term| term.forms.iter().any(|(form, _)| form == stem));
    let mut words =
        split_words(name).into_iter().map(|word| stem(&word)).filter(|stem| TAKES_AWAY.contains(&stem.as_str()));
    words.next().is_some_and(|first| !says(&first) && !words.any(|other| says(&other)))
}

/// Looks all terms of an intent up; nothing when the index is not whole.
fn look(intent: &Intent, index: &Index<'_>) -> Option<Looked> {
    let terms = intent.terms.len();
    let mut looked = Looked {
        known: vec![0.0; index.tools.len() * terms],
        verbs: vec![Verb::Beside; index.tools.len()],
        weights: Vec::with_capacity(terms),
        said: vec![0.0; index.stems.len()],
    };
    for stem in intent.stems.iter().filter_map(|stem| index.stem(stem)) {
        looked.said[stem.number] = 1.0;
    }
    for (number, term) in intent.terms.iter().enumerate() {
        let forms = forms(term, index);
        let rare = |stem: &Stem<'_>| rarity(stem.count, index.tools.len());
        let best = forms.iter().map(|(stem, weight)| rare(stem) * weight).fold(0.0, f32::max);
        let own = term.forms.first().map_or("", |(form, _)| form.as_str());
        for (stem, weight) in &forms {
            let verb = |flags: u8| match flags {
                _ if !term.verb || flags & (NAME | TITLE | PATH) == 0 => Verb::Beside,
                _ if flags & NAME != 0 && stem.text == own => Verb::Own,
                _ => Verb::Head,
            };
            looked.said[stem.number] = looked.said[stem.number].max(*weight);
            // What was said counts in full, however many tools have it beside what it stands for.
            let rarer = if stem.text == own { 1.0 } else { (rare(stem) / best.max(f32::MIN_POSITIVE)).min(1.0) };
            let worth = weight * (1.0 - FORM_RARITY + FORM_RARITY * rarer);
            stem.tools(|tool, here, flags| {
                let resource = if term.object && flags & RESOURCE != 0 { IS_RESOURCE } else { 0.0 };
                let title = if flags & (NAME | TITLE) == NAME | TITLE { IS_TITLE } else { 0.0 };
                let asked = if term.given && flags & ASKED != 0 { IS_ASKED } else { 0.0 };
                if let Some(known) = looked.known.get_mut(tool * terms + number) {
                    *known = known.max(worth * f32::from(here) / 255.0 + weight * (resource + title + asked));
                    looked.verbs[tool] = looked.verbs[tool].max(verb(flags));
                }
            })?;
        }
        looked.weights.push(if forms.is_empty() { unknown(term) } else { term.weight * best });
    }
    Some(looked)
}

/// What a term counts where nothing has it.
pub(crate) fn unknown(term: &Term) -> f32 {
    match (term.verb, term.name) {
        (true, _) => term.weight,
        (false, true) => term.weight * UNKNOWN_NAME,
        (false, false) => term.weight * UNKNOWN,
    }
}

/// The stems of an index that a term is found by. A word that neither the index nor the vocabulary has may be misspelt.
fn forms<'i>(term: &Term, index: &Index<'i>) -> Vec<(Stem<'i>, f32)> {
    let known = term.forms.iter().filter_map(|(form, weight)| Some((index.stem(form)?, *weight)));
    let mut forms: Vec<(Stem<'i>, f32)> = known.collect();
    let own = term.forms.first().map_or("", |(form, _)| form.as_str());
    if forms.is_empty() && term.prefix && own.len() >= LEAST_PREFIX {
        let from = index.stems.partition_point(|stem| stem.text < own);
        let begun = index.stems[from..].iter().take_while(|stem| stem.text.starts_with(own));
        forms.extend(begun.max_by_key(|stem| stem.count).map(|stem| (*stem, BEGUN)));
    }
    if forms.is_empty() && own.len() >= LEAST_MISSPELT && !Vocabulary::get().knows(own) {
        let near = |stem: &&Stem<'i>| stem.text.len() + 1 >= LEAST_MISSPELT && is_one_edit(own, stem.text);
        forms.extend(index.stems.iter().filter(near).map(|stem| (*stem, MISSPELT)));
    }
    forms
}

/// How rare a stem is that so many of the tools have.
fn rarity(count: usize, tools: usize) -> f32 {
    let (count, tools) = (float(count), float(tools));
    let most = (1.0 + (tools - 0.5) / 1.5).ln();
    let rare = (1.0 + (tools - count + 0.5).max(0.0) / (count + 0.5)).ln() / most.max(f32::MIN_POSITIVE);
    1.0 - RARITY + RARITY * rare.min(1.0)
}

/// Whether what a tool does can be what is wanted.
fn does(deed: Deed, tool: &Entry<'_>) -> bool {
    match deed {
        Deed::Read => true,
        // A request that another method makes can be grave for other reasons: it sends something out.
        Deed::Destroy => matches!(tool.method, Method::Delete | Method::Mcp) && tool.access == Access::Destroy,
        Deed::Create | Deed::Change | Deed::Act => tool.access.changes(),
    }
}

/// How well a tool does what is wanted, by its method, by where it has the verb and by its name.
fn fit(intent: &Intent, tool: &Entry<'_>, verb: Verb) -> f32 {
    let method = method(intent.deed, tool);
    match intent.deed {
        Deed::Read => method,
        // `cancel` is what `cancel-run` does, whatever its method, before what deletes the run.
        Deed::Destroy if verb == Verb::Own && tool.access == Access::Destroy => 1.0,
        Deed::Destroy if verb == Verb::Beside && tool.method != Method::Delete => method * UNNAMED,
        Deed::Destroy => method,
        Deed::Create | Deed::Change | Deed::Act => method * if undoes(intent, tool.name) { UNDOING } else { 1.0 },
    }
}

/// How well the method of a tool fits what is wanted.
fn method(deed: Deed, tool: &Entry<'_>) -> f32 {
    use Method::{Delete, Get, Head, Mcp, Patch, Post, Put};
    match (deed, tool.method) {
        (_, Mcp) if deed == Deed::Read && tool.access == Access::Destroy => 0.3,
        (_, Mcp) => {
            if does(deed, tool) {
                0.95
            } else {
                0.6
            }
        }
        (Deed::Create, Post) | (Deed::Change, Patch | Put) | (Deed::Act, Post | Put | Patch) => 1.0,
        (Deed::Read, Get) | (Deed::Destroy, Delete) => 1.0,
        (Deed::Change, Post) => 0.95,
        (Deed::Create, Put) => 0.7,
        (Deed::Destroy, _) if tool.access == Access::Destroy => 1.0,
        (Deed::Read, Head) => 0.9,
        (Deed::Create, Patch) | (Deed::Destroy, Post | Put | Patch) => 0.75,
        (Deed::Act, Delete) => 0.7,
        (Deed::Read, Post) if tool.access != Access::Destroy => 0.6,
        (Deed::Create, Delete) => 0.3,
        _ => 0.4,
    }
}

/// How little a tool says besides, how simple it is, and whether it is of one or of many as the intent is.
fn shape(intent: &Intent, tool: &Entry<'_>, said: &[f32], index: &Index<'_>) -> f32 {
    let (mut all, mut known, mut own) = (0.0, 0.0, 1.0);
    for stem in tool.head.iter().filter_map(|number| index.stems.get(*number)) {
        if intent.mine && OWN.contains(&stem.text) {
            own = IS_OWN;
        }
        let weight = rarity(stem.count, index.tools.len());
        all += weight;
        known += weight * said[stem.number].min(1.0);
    }
    let precision = if all > 0.0 { known / all } else { 0.0 };
    let number = match (intent.deed, tool.item) {
        (Deed::Read, true) if intent.many && !intent.one => 0.92,
        (Deed::Read, false) if intent.one && !intent.many => ONE_OF_MANY,
        (Deed::Destroy, true) if intent.many => 0.83,
        (Deed::Destroy, false) if !intent.many => 0.95,
        (Deed::Create, true) => 0.97,
        _ => 1.0,
    };
    let age = if tool.deprecated { DEPRECATED } else { 1.0 };
    (1.0 - OTHER_WORDS + OTHER_WORDS * precision) * own * number * age * (1.0 - DEEP * float(tool.depth.min(12)))
}

fn float(number: usize) -> f32 {
    f32::from(u16::try_from(number).unwrap_or(u16::MAX))
}
