//! What the run's workspace keeps: variables and blobs.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::misfit;
use crate::host::HostHandle;
use crate::{Result, json};

/// Variables of the run's workspace: JSON values by name.
#[derive(Debug, Clone)]
pub struct Vars {
    pub(crate) host: HostHandle,
}

impl Vars {
    /// Returns a variable, or nothing when it was never set.
    ///
    /// # Errors
    /// [`Cause::Flow`](crate::Cause::Flow) when its value does not fit `T`, else what the host fails with.
    pub fn get<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>> {
        match self.host.variable(name)? {
            Some(text) => json::read(&text).map(Some).map_err(|problem| misfit("the variable", name, problem)),
            None => Ok(None),
        }
    }

    /// Sets a variable.
    ///
    /// # Errors
    /// [`Cause::Flow`](crate::Cause::Flow) when the value has no JSON form,
    /// [`Cause::InvalidInput`](crate::Cause::InvalidInput) when the name is not one,
    /// [`Cause::Limit`](crate::Cause::Limit) when the value is too large.
    pub fn set<T: Serialize + ?Sized>(&self, name: &str, value: &T) -> Result<()> {
        self.host.set_variable(name, &serde_json::to_string(value)?)
    }

    /// Returns the names, sorted.
    ///
    /// # Errors
    /// What the host fails with.
    pub fn names(&self) -> Result<Vec<String>> {
        self.host.variable_names()
    }
}

/// Named blobs among the artifacts of the run's workspace. A name is one path segment of at most 100 bytes.
#[derive(Debug, Clone)]
pub struct Files {
    pub(crate) host: HostHandle,
}

/// A named blob.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct File {
    /// Its name.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
}

impl Files {
    /// Writes a whole file and replaces an older one of the name.
    ///
    /// # Errors
    /// [`Cause::InvalidInput`](crate::Cause::InvalidInput) when the name is not one path segment,
    /// [`Cause::Limit`](crate::Cause::Limit) when the content is too large.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> Result<()> {
        self.host.write_file(name, content.as_ref())
    }

    /// Returns the content of a file.
    ///
    /// # Errors
    /// [`Cause::NotFound`](crate::Cause::NotFound) when there is none of the name.
    pub fn read(&self, name: &str) -> Result<Vec<u8>> {
        self.host.read_file(name)
    }

    /// Returns the content of a file as text; bytes that are not UTF-8 become U+FFFD.
    ///
    /// # Errors
    /// As [`Files::read`].
    pub fn read_text(&self, name: &str) -> Result<String> {
        let content = self.read(name)?;
        Ok(String::from_utf8(content).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    /// Returns the files, by name.
    ///
    /// # Errors
    /// What the host fails with.
    pub fn list(&self) -> Result<Vec<File>> {
        Ok(self.host.files()?.into_iter().map(|(name, bytes)| File { name, bytes }).collect())
    }
}
