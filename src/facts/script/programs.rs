//! Programs whose effects on a project's files are known, one row each.
//!
//! PURE. Plain data. Lists only programs and flags whose behaviour is certain: a missing one may change anything.

use std::sync::LazyLock;

use super::rule::{Program, Rule, Special, open, program, strict, unless};
use super::services::SERVICES;
use super::tools::TOOLS;
use crate::ids::IdMap;

/// The rule for a program, if it is known: the first in the tables.
pub(super) fn rule(name: &str) -> Option<&'static Rule> {
    let known = &*KNOWN;
    let by_name = known.names.get(name).copied();
    let mut starts = known.starts.iter();
    let by_start = starts.find(|(start, _)| name.starts_with(start));
    let place = by_name.into_iter().chain(by_start.map(|(_, place)| *place));
    Some(&all().nth(place.min()?)?.rule)
}

/// All programs, in order.
fn all() -> impl Iterator<Item = &'static Program> {
    PROGRAMS.iter().chain(TOOLS).chain(SERVICES)
}

/// The places of the programs in the tables.
struct Known {
    names: IdMap<&'static str, usize>,
    /// For names that end in `*`: what comes before that.
    starts: Vec<(&'static str, usize)>,
}

/// There are a thousand names, and each command of a session is looked up several times.
static KNOWN: LazyLock<Known> = LazyLock::new(|| {
    let mut known = Known {
        names: IdMap::default(),
        starts: Vec::new(),
    };
    for (program, place) in all().zip(0..) {
        for name in program.names.split_ascii_whitespace() {
            match name.strip_suffix('*') {
                Some(start) if !start.is_empty() => known.starts.push((start, place)),
                Some(_) | None => drop(known.names.entry(name).or_insert(place)),
            }
        }
    }
    known
});

/// Programs that fit no other group.
const PROGRAMS: &[Program] = &[
    program(
        "[ [[ ag alias basename bat bd break cal cat cd chmod cksum clear cmp code column comm continue ctest cut \
         date df diff dig dirname du echo egrep exit export expr false ffprobe fgrep file fold for free getconf \
         grep groups head hexdump history host hostname htop id identify ip jobs journalctl jq kill killall \
         launchctl locale ls lsblk lsof man md5sum mkdir mypy nc netstat nl nm notify-send nproc objdump od open \
         pgrep ping pkill popd printenv printf ps pushd pwd read readlink realpath redis-cli return seq set \
         sha1sum sha256sum shasum shellcheck shift sleep ss ssh-add stat strings sw_vers systemctl tac tail test \
         tokei top tox tput tr true type ulimit umask uname unset uptime vue-tsc wait wc whereis which who \
         whoami xdg-open zcat zipinfo done fi } esac",
        Rule::Reads,
    ),
    // Python modules.
    program("compileall http.server py_compile unittest", Rule::Reads),
    program(
        "json.tool",
        Rule::Operands {
            flags: "--sort-keys --no-ensure-ascii --json-lines --indent= --tab --no-indent --compact",
            most: 1,
        },
    ),
    program("touch", Rule::Makes(&Rule::Reads)),
    // Builds.
    program("clang g++ gcc ld rustc", Rule::Makes(&Rule::Reads)),
    program("javac ninja nvm rustup tsc tsgo xcodebuild", Rule::Reads),
    program(
        "cp install ln mv rm rmdir rsync shred sponge tee trash truncate unlink",
        Rule::Names,
    ),
    program("sed gsed", Rule::Special(Special::Sed)),
    program("awk gawk mawk", Rule::Special(Special::Awk)),
    program("sh bash zsh dash", Rule::Special(Special::Shell)),
    program("pwsh powershell", Rule::Special(Special::PowerShell)),
    program(
        "python python3 node ruby perl php",
        Rule::Special(Special::Interpreter),
    ),
    program("apply_patch applypatch", Rule::Special(Special::Patch)),
    program("source .", Rule::Special(Special::Source)),
    program("dd", Rule::Special(Special::Dd)),
    program("tar", Rule::Special(Special::Tar)),
    program("wget", Rule::Special(Special::Wget)),
    program("unzip", unless("!-[lptvZ] -[abCDKLMnoqTuUVWX] -d= -x= -P=")),
    program(
        "sort",
        strict(
            "!-o= !--output= -[bdfghiMnrRsuVzcCm] -k= -t= -S= -T= --key= --field-separator= --buffer-size= \
             --parallel= --temporary-directory= --reverse --numeric-sort --human-numeric-sort --version-sort \
             --unique --stable --check? --zero-terminated --ignore-case --general-numeric-sort --month-sort \
             --random-sort --sort= --ignore-leading-blanks --dictionary-order --merge --debug --batch-size= \
             --files0-from=",
        ),
    ),
    program(
        "uniq",
        Rule::Operands {
            flags: "-[cdDiuz] -f= -s= -w= --count --repeated --all-repeated? --unique --ignore-case \
                --skip-fields= --skip-chars= --check-chars= --zero-terminated --group?",
            most: 1,
        },
    ),
    program(
        "xxd",
        Rule::Operands {
            flags: "-r -p -ps -plain -postscript -[abeEiCdu] -c= -cols= -g= -l= -len= -n= -o= -s= -seek= -R=",
            most: 1,
        },
    ),
    program(
        "base64",
        strict(
            "!-o= !--output= -[dDi] -w= -b= --decode --wrap= --break= --ignore-garbage --input=",
        ),
    ),
    program("less more", open("!-o= !-O= !--log-file= !--LOG-FILE=")),
    program("say", open("!-o= !--output-file=")),
    program("cloc", open("!--out= !--report-file= !--write*")),
    program("rg", open("!--pre= -[ABCefgjmMrtTdE]=")),
    program(
        "tree",
        strict(
            "!-o= !-R -[aACdfFDghilnNpqQrsStuUvxXJ] -L= -I= -P= -H= -T= --gitignore --dirsfirst --noreport \
             --filelimit= --charset= --prune --matchdirs --ignore-case --du --si --filesfirst --sort= --fromfile \
             --inodes --device --metafirst --timefmt=",
        ),
    ),
    program(
        "yq",
        strict(
            "!-i !--inplace !--in-place !-s= !--split-exp= !--split-exp-file= -[rRejcnNPMCvSy] -o= -p= -I= -f= \
             --output-format= --input-format= --raw-output --exit-status --null-input --no-doc --prettyPrint \
             --no-colors --colors --tojson --indent= --unwrapScalar? --from-file= --header-preprocess?",
        ),
    ),
    program(
        "curl",
        strict(
            "!-[ocDK]= !-[OJ] !--output= !--remote-name !--remote-name-all !--remote-header-name !--cookie-jar= \
             !--dump-header= !--trace* !--stderr= !--libcurl= !--etag-save= !--hsts= !--alt-svc= !--config= \
             !--output-dir= -[sSfLkvigGIN0123456aBjlnpqMR#Z] -H= -d= -X= -A= -b= -e= -u= -U= -m= -w= -x= -F= -r= \
             -T= -E= -C= -y= -Y= -z= -P= -t= -Q= --silent --show-error --fail* --location* --insecure --verbose \
             --include --get --head --no-buffer --globoff --compressed --compressed-ssh --header= --data= \
             --data-raw= --data-binary= --data-urlencode= --data-ascii= --json= --request= --user-agent= --cookie= \
             --referer= --user= --proxy* --max-time= --connect-timeout= --write-out= --form= --form-string= --url= \
             --url-query= --range= --upload-file= --cert= --key= --cacert= --capath= --resolve= --connect-to= \
             --retry= --retry-delay= --retry-max-time= --retry-all-errors --retry-connrefused --max-redirs= \
             --http1.0 --http1.1 --http2 --http2-prior-knowledge --http3 --tlsv1* --tls-max= --ipv4 --ipv6 \
             --no-progress-meter --progress-bar --parallel --parallel-max= --unix-socket= --interface= --limit-rate= \
             --noproxy= --oauth2-bearer= --basic --digest --ntlm --negotiate --anyauth --aws-sigv4= --next \
             --speed-limit= --speed-time= --no-keepalive --keepalive-time= --path-as-is --raw --ssl --ssl-reqd \
             --netrc --time-cond= --continue-at= --request-target= --no-alpn --styled-output --help? --version -V -h",
        ),
    ),
    program(
        "find gfind",
        Rule::Finds {
            flags: "-exec... -execdir... -ok... -okdir... !-delete !-fls= !-fprint= !-fprint0= !-fprintf= -name= -iname= \
                -path= -ipath= -wholename= -iwholename= -regex= -iregex= -regextype= -type= -xtype= -size= -mtime= \
                -atime= -ctime= -mmin= -amin= -cmin= -newer* -maxdepth= -mindepth= -perm= -user= -group= -uid= -gid= \
                -links= -inum= -samefile= -lname= -ilname= -fstype= -printf= -print -print0 -ls -prune -quit -empty \
                -executable -readable -writable -nouser -nogroup -depth -d -xdev -mount -daystart -follow -not -and \
                -or -a -o -true -false -noleaf -ignore_readdir_race -used= -anewer= -cnewer= -H -L -P -E -X -x -s -D= \
                -O1 -O2 -O3 -warn -nowarn -files0-from= -f= --help -version",
        },
    ),
    program(
        "fd fdfind",
        Rule::Finds {
            flags: "-x... -X... --exec... --exec-batch... -[aFgHiIlLpqsuh01] -d= -c= -e= -E= -t= -S= -j= -o= -C= -m= \
                --absolute-path --glob --hidden --ignore-case --no-ignore* --follow --full-path --case-sensitive \
                --unrestricted --list-details --fixed-strings --print0 --quiet --max-depth= --min-depth= --exact-depth= \
                --extension= --exclude= --type= --size= --color= --threads= --owner= --changed-within= \
                --changed-before= --max-results= --base-directory= --and= --prune --one-file-system --strip-cwd-prefix? \
                --format= --path-separator= --search-path= --show-errors --relative-path --ignore-file= --version -V",
        },
    ),
    program(
        "xargs gxargs",
        Rule::Runs {
            flags: "-[0rtpxo] -n= -I= -P= -L= -d= -a= -E= -s= -J= -R= -S= -i? -l? -e? --null --no-run-if-empty \
                --verbose --exit --max-args= --max-procs= --max-lines? --max-chars= --delimiter= --arg-file= \
                --replace? --interactive --eof? --show-limits",
        },
    ),
    program(
        "sqlite3",
        Rule::Says {
            texts: &[
                ".output",
                ".once",
                ".backup",
                ".save",
                ".system",
                ".shell",
                ".excel",
                ".log",
                ".read",
                "writefile(",
            ],
            otherwise: &Rule::Reads,
        },
    ),
    program(
        "psql",
        Rule::Says {
            texts: &["\\o", "\\g", "\\w", "\\copy", "\\!", "\\i"],
            otherwise: &open(
                "!-o= !-L= !-f= !--output= !--log-file= !--file= -[cdhpUvPFRT]= --command= --dbname= --host= --port= \
                 --username=",
            ),
        },
    ),
    program(
        "mysql",
        Rule::Says {
            texts: &["outfile", "dumpfile", "\\t ", "\\!", "tee ", "system "],
            otherwise: &open("!--tee* -[ehuPD]= -p?"),
        },
    ),
];

#[cfg(test)]
mod tests {
    use super::super::rule::is_one_of;
    use super::*;

    #[test]
    fn a_program_has_the_first_rule_that_names_it() {
        let names = all().flat_map(|program| program.names.split_ascii_whitespace());
        let names = names.flat_map(|name| [name.to_owned(), name.replace('*', "x")]);
        for name in names.chain(["".to_owned(), "no such program".to_owned()]) {
            let mut named = all().filter(|program| is_one_of(&name, program.names));
            let first = named
                .next()
                .map(|program| std::ptr::from_ref(&program.rule));
            assert_eq!(rule(&name).map(std::ptr::from_ref), first, "{name}");
        }
    }
}
