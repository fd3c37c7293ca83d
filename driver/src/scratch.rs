//! New files that get their name only when they are complete.
//!
//! On Linux such a file has no name while it is written. So a signal or a crash leaves nothing in
//! the folder. Elsewhere, and in file systems without such files, it has a name of its own, which
//! only an orderly end removes.

use std::fs::{File, Permissions};
use std::io::{Result, Seek, Write};
use std::path::Path;

use tempfile::{Builder, NamedTempFile};

/// A file that is not complete.
pub(crate) enum Scratch {
    #[cfg(target_os = "linux")]
    Unnamed(File),
    Named(NamedTempFile),
}

impl Scratch {
    /// Creates an empty file in a folder.
    pub(crate) fn new_in(folder: &Path) -> Result<Scratch> {
        #[cfg(target_os = "linux")]
        if let Some(file) = linux::unnamed(folder) {
            return Ok(Scratch::Unnamed(file));
        }
        named().tempfile_in(folder).map(Scratch::Named)
    }

    pub(crate) fn file(&mut self) -> &mut File {
        match self {
            #[cfg(target_os = "linux")]
            Scratch::Unnamed(file) => file,
            Scratch::Named(file) => file.as_file_mut(),
        }
    }

    /// Gives the complete file its name, in the place of any other file. The permissions are those of
    /// the file in its place; without them, it keeps those of a new file.
    pub(crate) fn persist(self, path: &Path, folder: &Path, permissions: Option<Permissions>) -> Result<()> {
        let replaces = permissions.is_some();
        let set = |file: &File| match permissions {
            Some(permissions) => file.set_permissions(permissions),
            None => Ok(()),
        };
        match self {
            #[cfg(target_os = "linux")]
            Scratch::Unnamed(mut file) => {
                set(&file)?;
                linux::persist(&file, path, folder, replaces).or_else(|_| copied(&mut file, path, folder))
            }
            Scratch::Named(file) => {
                set(file.as_file())?;
                file.persist(path).map(drop).map_err(|error| error.error)
            }
        }
    }
}

fn named() -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix(".ptxc-");
    // Temporary files are usually private. This one gets the permissions of any new file, which the
    // system limits by the umask.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder
}

/// Copies a file that cannot get a name to one that has a name.
#[cfg(target_os = "linux")]
fn copied(file: &mut File, path: &Path, folder: &Path) -> Result<()> {
    let mut copy = named().tempfile_in(folder)?;
    file.rewind()?;
    std::io::copy(file, &mut copy)?;
    copy.flush()?;
    copy.as_file().set_permissions(file.metadata()?.permissions())?;
    copy.persist(path).map(drop).map_err(|error| error.error)
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::{File, OpenOptions};
    use std::io::Result;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::OpenOptionsExt;
    use std::path::Path;

    use rustix::fs::{AtFlags, CWD, OFlags, linkat};

    pub(super) fn unnamed(folder: &Path) -> Option<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(OFlags::TMPFILE.bits().cast_signed());
        options.open(folder).ok()
    }

    fn link(file: &File, path: &Path) -> Result<()> {
        // A file without a name is reached through its descriptor.
        let source = format!("/proc/self/fd/{}", file.as_raw_fd());
        Ok(linkat(CWD, source, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
    }

    /// A name can be given to a file only where there is none, so an old file is replaced by a
    /// rename right after it. `replaces` says that there is one.
    pub(super) fn persist(file: &File, path: &Path, folder: &Path, replaces: bool) -> Result<()> {
        if !replaces && link(file, path).is_ok() {
            return Ok(());
        }
        let named = super::named().make_in(folder, |name| link(file, name))?;
        named.persist(path).map(drop).map_err(|error| error.error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).expect("it is a folder");
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn only_a_complete_file_takes_the_place_of_the_old_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("k");
        for text in ["first", "second"] {
            let mut scratch = Scratch::new_in(folder.path()).expect("a file");
            scratch.file().write_all(text.as_bytes()).expect("it is written");
            #[cfg(target_os = "linux")]
            if matches!(scratch, Scratch::Unnamed(_)) {
                assert_eq!(names(folder.path()).len(), usize::from(text == "second"));
            }
            scratch.persist(&path, folder.path(), None).expect("it gets its name");
            assert_eq!(std::fs::read_to_string(&path).expect("it is there"), text);
        }
        drop(Scratch::new_in(folder.path()).expect("a file"));
        assert_eq!(names(folder.path()), ["k"]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_cannot_get_a_name_is_copied() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("k");
        let mut file = tempfile::tempfile_in(folder.path()).expect("a file");
        file.write_all(b"text").expect("it is written");
        copied(&mut file, &path, folder.path()).expect("it is copied");
        assert_eq!(std::fs::read_to_string(&path).expect("it is there"), "text");
    }
}
