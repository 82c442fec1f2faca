//! A part that is built when it is first needed, and whose building can fail.

use std::sync::{Arc, Mutex, PoisonError};

/// Holds at most one value; a failure to build is not remembered.
#[derive(Debug)]
pub(crate) struct Lazy<T>(Mutex<Option<Arc<T>>>);

impl<T> Lazy<T> {
    /// Returns an empty holder.
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Returns the value when it is built.
    pub(crate) fn built(&self) -> Option<Arc<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the value, building it first when there is none. `build` must not ask for the same part.
    pub(crate) fn get<E>(&self, build: impl FnOnce() -> Result<T, E>) -> Result<Arc<T>, E> {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = &*slot {
            return Ok(Arc::clone(value));
        }
        let value = Arc::new(build()?);
        *slot = Some(Arc::clone(&value));
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_built_once_and_only_when_asked_for() {
        let part = Lazy::new();
        assert!(part.get(|| Err::<u8, _>("no")).is_err());
        assert!(part.built().is_none());
        let first = part.get(|| Ok::<_, ()>(7)).unwrap();
        assert_eq!(part.built().as_deref(), Some(&7));
        let second = part.get(|| Err::<u8, _>("not called")).unwrap();
        assert!(Arc::ptr_eq(&first, &second));
    }
}
