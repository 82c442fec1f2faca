//! Shapes that a recording does not have by itself: lists of pages, loops, conditions.

pub(crate) mod conditions;
pub(crate) mod loops;
pub(crate) mod pages;
mod unread;
