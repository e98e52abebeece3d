//! Copies what a file has besides its bytes, mode and owner: user-defined extended attributes, access control lists, security
//! labels.
//!
//! Does not copy attributes that grant privileges to a program, or that certify the replaced bytes.

use std::ffi::{CStr, CString};
use std::fs::File;

use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fremovexattr, fsetxattr};
use rustix::io::Errno;

/// The POSIX access control list, as Linux names it.
pub(super) const ACL: &CStr = c"system.posix_acl_access";
/// Attributes that the new file gets anyway, or must not have.
const LEFT_OUT: [&CStr; 3] = [c"security.capability", c"security.ima", c"security.evm"];

/// Copies the attributes of `from` to `to`; returns the names of those that could not be copied.
pub(super) fn copy(from: &File, to: &File) -> Vec<String> {
    let wanted = match names(from) {
        Ok(names) => names,
        Err(_) => return vec!["all extended attributes".to_owned()],
    };
    let mut lost = Vec::new();
    for name in &wanted {
        if LEFT_OUT.contains(&name.as_c_str()) {
            continue;
        }
        let given = get(from, name).and_then(|value| {
            // A label may be right already, and we may not be allowed to set it.
            if get(to, name).is_ok_and(|there| there == value) {
                return Ok(());
            }
            fsetxattr(to, name.as_c_str(), &value, XattrFlags::empty())
        });
        if given.is_err() {
            lost.push(name.to_string_lossy().into_owned());
        }
    }
    // A new file may inherit an access control list from its folder.
    let has_acl = wanted.iter().any(|name| name.as_c_str() == ACL);
    if !has_acl && get(to, ACL).is_ok() && fremovexattr(to, ACL).is_err() {
        lost.push("the absence of an access control list".to_owned());
    }
    lost
}

/// The access control list of a file, if it has one besides its mode.
pub(super) fn acl(file: &File) -> Option<Vec<u8>> {
    get(file, ACL).ok()
}

/// Sets the access control list of a file.
pub(super) fn set_acl(file: &File, acl: &[u8]) -> Result<(), Errno> {
    fsetxattr(file, ACL, acl, XattrFlags::empty())
}

fn names(file: &File) -> Result<Vec<CString>, Errno> {
    let list = whole(|buffer| flistxattr(file, buffer));
    let list = match list {
        // A file system without attributes.
        Err(Errno::NOTSUP | Errno::NOSYS) => Vec::new(),
        list => list?,
    };
    let names = list.split(|&b| b == 0).filter(|name| !name.is_empty());
    Ok(names.filter_map(|name| CString::new(name).ok()).collect())
}

fn get(file: &File, name: &CStr) -> Result<Vec<u8>, Errno> {
    whole(|buffer| fgetxattr(file, name, buffer))
}

/// Everything that `read` returns, using a sufficiently large buffer.
fn whole(mut read: impl FnMut(&mut [u8]) -> Result<usize, Errno>) -> Result<Vec<u8>, Errno> {
    // The most bytes that Linux allows for an attribute or a list of names.
    const MOST: usize = 64 << 10;
    let mut buffer = vec![0; 256];
    loop {
        match read(&mut buffer) {
            Ok(length) => {
                buffer.truncate(length);
                return Ok(buffer);
            }
            Err(Errno::RANGE) if buffer.len() < MOST => buffer.resize(MOST, 0),
            Err(error) => return Err(error),
        }
    }
}
