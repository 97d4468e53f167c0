// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh_config/ssh_config_outline.hpp"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "backends/posix/files.hpp"
#include "backends/ssh_formats/known_hosts.hpp"
#include "config_schema/text/text.hpp"

namespace train {

namespace {

constexpr std::size_t max_host_lines = 10'000;
constexpr std::string_view blanks = " \t\r\f";

// Options that do not affect the settings used here. (HashKnownHosts matters only to a host that
// StrictHostKeyChecking, which is not in this list, lets add keys.) The /etc/ssh/ssh_config of
// Debian and Ubuntu has no others.
constexpr std::array without_effect = {"addkeystoagent",
                                       "checkhostip",
                                       "compression",
                                       "controlmaster",
                                       "controlpath",
                                       "controlpersist",
                                       "escapechar",
                                       "forwardagent",
                                       "forwardx11",
                                       "forwardx11timeout",
                                       "forwardx11trusted",
                                       "gssapiauthentication",
                                       "gssapidelegatecredentials",
                                       "hashknownhosts",
                                       "loglevel",
                                       "sendenv",
                                       "serveralivecountmax",
                                       "serveraliveinterval",
                                       "setenv",
                                       "tcpkeepalive",
                                       "updatehostkeys",
                                       "visualhostkey",
                                       "xauthlocation"};
// The values of these may contain the host (%h), but are either not used here or expanded here.
constexpr std::array tokens_do_no_harm = {"certificatefile", "controlpath",  "identityfile",
                                          "localcommand",    "proxycommand", "remotecommand"};

template <class List>
bool contains(const List& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

struct Line {
  std::string keyword;  // lower case
  std::vector<std::string> words;
  bool is_plain = true;  // quotes only around whole words; versions of ssh differ in other quoting
};

std::string_view take_word(std::string_view& rest, bool& is_plain) {
  std::size_t end = 0;
  std::string_view word;
  if (rest.front() == '"') {
    rest.remove_prefix(1);
    end = std::min(rest.find('"'), rest.size());
    is_plain = is_plain && end < rest.size() &&
               (end + 1 == rest.size() || blanks.find(rest[end + 1]) != blanks.npos);
    word = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  } else {
    end = std::min(rest.find_first_of(blanks), rest.size());
    word = rest.substr(0, end);
    rest.remove_prefix(end);
    is_plain = is_plain && word.find('"') == std::string_view::npos;
  }
  rest.remove_prefix(std::min(rest.find_first_not_of(blanks), rest.size()));
  is_plain = is_plain && word.find_first_of("'\\") == std::string_view::npos;
  return word;
}

// "Keyword value", "Keyword=value", "Keyword = value"; an unquoted # begins a comment.
Line read_line(std::string_view rest) {
  Line line;
  const std::size_t end = std::min(rest.find_first_of(" \t\r\f="), rest.size());
  line.keyword = to_lower(rest.substr(0, end));
  line.is_plain = line.keyword.find('"') == std::string::npos;
  rest.remove_prefix(end);
  rest.remove_prefix(std::min(rest.find_first_not_of(blanks), rest.size()));
  if (rest.starts_with('=')) rest.remove_prefix(1);
  rest.remove_prefix(std::min(rest.find_first_not_of(blanks), rest.size()));
  while (!rest.empty() && rest.front() != '#')
    line.words.emplace_back(take_word(rest, line.is_plain));
  return line;
}

bool holds(const std::vector<std::string>& patterns, const std::string& host) {
  bool found = false;
  for (std::string_view pattern : patterns) {
    const bool is_negative = pattern.starts_with('!');
    if (is_negative) pattern.remove_prefix(1);
    if (!matches_name_pattern(pattern, host)) continue;
    if (is_negative) return false;
    found = true;
  }
  return found;
}

bool is_lower_case(const std::string& text) { return text == to_lower(text); }

}  // namespace

std::vector<std::string> SshConfigOutline::add(std::string_view text) {
  std::vector<std::string> includes;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
    if (!line.empty() && !line.starts_with('#')) add_line(line, includes);
  }
  return includes;
}

void SshConfigOutline::add_line(std::string_view text, std::vector<std::string>& includes) {
  const Line line = read_line(text);
  if (!line.is_plain) is_per_host_ = true;
  if (line.keyword == "host") {
    host_lines_.push_back(line.words);
    if (host_lines_.size() > max_host_lines) is_per_host_ = true;
  } else if (line.keyword == "include") {
    includes.insert(includes.end(), line.words.begin(), line.words.end());
  } else if (line.keyword == "match") {
    // "all" applies to every host, and the two others to all hosts or none.
    for (const std::string& word : line.words)
      if (const std::string lower = to_lower(word);
          lower != "all" && lower != "canonical" && lower != "final")
        is_per_host_ = true;
  } else if (!contains(without_effect, line.keyword)) {
    matters_ = true;
    if (line.keyword == "canonicalizehostname") is_per_host_ = true;
    for (const std::string& word : line.words) {
      if (line.keyword == "hostname") host_names_.insert(to_lower(word));
      if (word.find('%') != std::string::npos && !contains(tokens_do_no_harm, line.keyword))
        is_per_host_ = true;
    }
  }
}

std::optional<std::string> SshConfigOutline::group_of(const std::string& host) const {
  // An empty hostname in the settings of a group means each host's own name. A HostName line with
  // the name of this host would look the same, but would give that name to the other hosts too.
  // Upper case is excluded because versions of ssh compare it differently.
  if (is_per_host_ || host_names_.contains(host) || !is_lower_case(host)) return std::nullopt;
  std::string group;
  group.reserve(host_lines_.size());
  for (const auto& patterns : host_lines_) group += holds(patterns, host) ? '1' : '0';
  return group;
}

namespace {

constexpr std::size_t max_file = 4u << 20;
constexpr std::size_t max_files = 1000;
constexpr int max_depth = 16;  // the limit of ssh

enum class Read { done, missing, failed };

Read read_file(const std::string& path, std::string& text) {
  // Non-blocking, so that opening a FIFO does not wait.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return errno == ENOENT || errno == ENOTDIR ? Read::missing : Read::failed;
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return Read::failed;
  text.resize(max_file + 1);
  const ssize_t size = read_whole(file.get(), text.data(), text.size());
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return size < 0 || text.size() > max_file ? Read::failed : Read::done;
}

class Reader {
 public:
  explicit Reader(std::string home) : home_(std::move(home)) {}

  // `folder` is the base of relative includes.
  bool add(const std::string& path, const std::string& folder, int depth) {
    std::string text;
    const Read read = ++files_ > max_files ? Read::failed : read_file(path, text);
    if (read == Read::missing) return false;
    if (read == Read::failed) {
      outline_.add_unknown();
      return true;
    }
    for (const std::string& include : outline_.add(text)) add_included(include, folder, depth + 1);
    return true;
  }
  SshConfigOutline take() { return std::move(outline_); }

 private:
  void add_included(const std::string& include, const std::string& folder, int depth) {
    std::string pattern = include;
    const bool is_own_home = pattern.starts_with("~/");
    if (is_own_home) pattern.replace(0, 1, home_);
    const bool is_known = pattern.find_first_of("%$~") == std::string::npos;
    if (pattern.empty() || !is_known || depth > max_depth) return outline_.add_unknown();
    if (pattern.front() != '/') pattern = folder + "/" + pattern;
    glob_t found{};
    const int result = ::glob(pattern.c_str(), 0, nullptr, &found);
    if (result != 0 && result != GLOB_NOMATCH) outline_.add_unknown();
    for (std::size_t i = 0; i < found.gl_pathc; ++i) add(found.gl_pathv[i], folder, depth);
    ::globfree(&found);
  }

  std::string home_;
  SshConfigOutline outline_;
  std::size_t files_ = 0;
};

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

}  // namespace

std::optional<SshConfigOutline> outline_ssh_config(const std::string& user_file,
                                                   const std::string& system_file,
                                                   const std::string& home) {
  Reader reader(home);
  const bool has_user_file = !user_file.empty() && reader.add(user_file, folder_of(user_file), 0);
  const bool has_system_file =
      !system_file.empty() && reader.add(system_file, folder_of(system_file), 0);
  if (!has_user_file && !has_system_file) return std::nullopt;
  return reader.take();
}

}  // namespace train
