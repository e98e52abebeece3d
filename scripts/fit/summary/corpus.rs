//! The sessions of a corpus, by the repositories that they come from.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

/// A recorded session.
pub(crate) struct Session {
    /// Its path below the corpus, as the index names it.
    pub(crate) path: String,
    /// Where its bytes were read.
    pub(crate) file: PathBuf,
    pub(crate) bytes: Vec<u8>,
    /// The number of its repository.
    pub(crate) repo: usize,
}

/// A folder of sessions with an index: tab-separated, with columns `path` and `repo`.
pub(crate) struct Corpus {
    pub(crate) sessions: Vec<Session>,
    pub(crate) repos: Vec<String>,
}

impl Corpus {
    /// Reads all that the index names.
    pub(crate) fn read(folder: &Path) -> Result<Corpus> {
        let index = folder.join("INDEX.tsv");
        let text = fs::read_to_string(&index).with_context(|| index.display().to_string())?;
        let mut lines = text
            .lines()
            .map(|line| line.split('\t').collect::<Vec<_>>());
        let head = lines.next().unwrap_or_default();
        let column = |name: &str| head.iter().position(|column| *column == name);
        let (path, repo) = column("path")
            .zip(column("repo"))
            .with_context(|| format!("{}: no columns path and repo", index.display()))?;
        let rows: Vec<(&str, &str)> = lines
            .filter_map(|line| Some((*line.get(path)?, *line.get(repo)?)))
            .collect();
        let repos: BTreeSet<&str> = rows.iter().map(|(_, repo)| *repo).collect();
        let repos: Vec<String> = repos.into_iter().map(str::to_owned).collect();
        let sessions = rows.iter().map(|(path, repo)| {
            let file = folder.join(path);
            Ok(Session {
                path: (*path).to_owned(),
                bytes: fs::read(&file).with_context(|| file.display().to_string())?,
                file,
                repo: repos
                    .iter()
                    .position(|known| known == repo)
                    .unwrap_or_default(),
            })
        });
        let sessions = sessions.collect::<Result<Vec<_>>>()?;
        ensure!(
            repos.len() > 1,
            "{}: folds need two repositories",
            index.display()
        );
        Ok(Corpus { sessions, repos })
    }

    /// The paths of the sessions of a repository.
    pub(crate) fn paths(&self, repo: usize) -> Vec<String> {
        let own = self.sessions.iter().filter(|session| session.repo == repo);
        own.map(|session| session.path.clone()).collect()
    }
}
