//! Reads a file of the user's objects as text, for `workload FILE` and `--nodes FILE`.

use std::path::Path;

#[derive(Debug, thiserror::Error)]
pub(crate) enum ManifestFileError {
    #[error("standard input is not supported: save it to a file, and pass the file")]
    StandardInput,
    #[error("{0}")]
    Unreadable(#[from] std::io::Error),
    #[error("the file is compressed with gzip: decompress it with gunzip, and pass the result")]
    Gzip,
    #[error("the file is not UTF-8 but UTF-16: save it as UTF-8")]
    Utf16,
    #[error("the file is not UTF-8 at byte {0} (from 0): save it as UTF-8")]
    NotUtf8(usize),
}

pub(crate) fn read(file: &Path) -> Result<String, ManifestFileError> {
    if file.as_os_str() == "-" {
        return Err(ManifestFileError::StandardInput);
    }
    decoded(std::fs::read(file)?)
}

/// Removes a byte-order mark, which editors on Windows write.
fn decoded(bytes: Vec<u8>) -> Result<String, ManifestFileError> {
    match bytes[..] {
        [0x1f, 0x8b, ..] => return Err(ManifestFileError::Gzip),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => return Err(ManifestFileError::Utf16),
        _ => {}
    }
    let text = String::from_utf8(bytes)
        .map_err(|error| ManifestFileError::NotUtf8(error.utf8_error().valid_up_to()))?;
    Ok(text.trim_start_matches('\u{feff}').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_order_mark_is_removed() {
        assert_eq!(decoded(b"\xef\xbb\xbfa: 1\r\n".to_vec()).unwrap(), "a: 1\r\n");
        assert_eq!(decoded(b"a: 1\n".to_vec()).unwrap(), "a: 1\n");
    }

    #[rstest::rstest]
    #[case::gzip(b"\x1f\x8b\x08\x00", "gunzip")]
    #[case::utf_16(b"\xff\xfea\x00", "UTF-16: save it as UTF-8")]
    #[case::latin_1(b"a: \xfc\n", "not UTF-8 at byte 3")]
    fn a_file_of_another_format_is_refused(#[case] bytes: &[u8], #[case] expected: &str) {
        let message = decoded(bytes.to_vec()).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }

    #[test]
    fn standard_input_is_refused() {
        let message = read(Path::new("-")).unwrap_err().to_string();
        assert!(message.contains("save it to a file"), "{message}");
    }
}
