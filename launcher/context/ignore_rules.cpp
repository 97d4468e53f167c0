// SPDX-License-Identifier: Apache-2.0
#include "launcher/context/ignore_rules.hpp"

#include <algorithm>
#include <array>

namespace train {
namespace {

// Trailing blanks do not count, unless a backslash precedes them.
std::string_view without_end_blanks(std::string_view line) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\' && i + 1 < line.size())
      end = ++i + 1;
    else if (line[i] != ' ')
      end = i + 1;
  }
  return line.substr(0, end);
}

bool is_in_class(std::string_view name, unsigned char c) {
  const bool lower = c >= 'a' && c <= 'z', upper = c >= 'A' && c <= 'Z';
  const bool digit = c >= '0' && c <= '9', graph = c > 0x20 && c < 0x7f;
  const bool letter = lower || upper;
  if (name == "alnum") return letter || digit;
  if (name == "alpha") return letter;
  if (name == "blank") return c == ' ' || c == '\t';
  if (name == "cntrl") return c < 0x20 || c == 0x7f;
  if (name == "digit") return digit;
  if (name == "graph") return graph;
  if (name == "lower") return lower;
  if (name == "print") return graph || c == ' ';
  if (name == "punct") return graph && !letter && !digit;
  if (name == "space") return c == ' ' || (c >= '\t' && c <= '\r');
  if (name == "upper") return upper;
  return digit || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');  // xdigit
}

bool is_class_name(std::string_view name) {
  constexpr std::array<std::string_view, 12> names = {"alnum", "alpha", "blank", "cntrl",
                                                      "digit", "graph", "lower", "print",
                                                      "punct", "space", "upper", "xdigit"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::optional<IgnorePattern> IgnorePattern::parse(std::string_view line) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  if (line.starts_with('#')) return std::nullopt;
  line = without_end_blanks(line);
  IgnorePattern pattern;
  if (line.starts_with('!')) {
    pattern.is_negated_ = true;
    line.remove_prefix(1);
  }
  if (line.ends_with('/')) {
    pattern.is_for_folders_ = true;
    line.remove_suffix(1);
  }
  pattern.is_anchored_ = line.find('/') != line.npos;
  if (line.starts_with('/')) line.remove_prefix(1);
  if (line.empty() || !pattern.compile(line)) return std::nullopt;
  return pattern;
}

bool IgnorePattern::compile(std::string_view glob) {
  for (std::size_t i = 0; i < glob.size(); ++i) {
    if (glob[i] == '*') {
      compile_stars(glob, i);
    } else if (glob[i] == '?') {
      tokens_.push_back({Token::Kind::any});
    } else if (glob[i] == '[') {
      if (!compile_set(glob, i)) return false;
    } else {
      if (glob[i] == '\\' && ++i == glob.size()) return false;
      tokens_.push_back({Token::Kind::byte, glob[i]});
    }
  }
  return true;
}

// Two stars match folders only as a whole part of the path; elsewhere they are one star.
void IgnorePattern::compile_stars(std::string_view glob, std::size_t& i) {
  const std::size_t begin = i;
  while (i + 1 < glob.size() && glob[i + 1] == '*') ++i;
  const bool is_part = i > begin && is_anchored_ && (begin == 0 || glob[begin - 1] == '/');
  if (is_part && i + 1 == glob.size()) {
    tokens_.push_back({Token::Kind::everything});
  } else if (is_part && glob[i + 1] == '/') {
    tokens_.push_back({Token::Kind::folders});
    ++i;
  } else {
    tokens_.push_back({Token::Kind::some});
  }
}

// Compiles the set that begins at `i`; leaves `i` on the closing bracket.
bool IgnorePattern::compile_set(std::string_view glob, std::size_t& i) {
  Token token{Token::Kind::set};
  ++i;
  const bool is_inverted = i < glob.size() && (glob[i] == '!' || glob[i] == '^');
  if (is_inverted) ++i;
  int first = -1;  // of a range
  for (bool is_first = true; i < glob.size() && (is_first || glob[i] != ']'); is_first = false) {
    const std::size_t end = glob.substr(i).starts_with("[:") ? glob.find(']', i + 2) : glob.npos;
    if (end != glob.npos && end > i + 2 && glob[end - 1] == ':') {
      const std::string_view name = glob.substr(i + 2, end - i - 3);
      if (!is_class_name(name)) return false;
      for (unsigned c = 0; c < 256; ++c)
        if (is_in_class(name, static_cast<unsigned char>(c))) token.set.set(c);
      first = -1;
      i = end + 1;
      continue;
    }
    const bool is_range =
        glob[i] == '-' && first >= 0 && i + 1 < glob.size() && glob[i + 1] != ']' && !is_first;
    if (is_range) ++i;
    if (glob[i] == '\\' && ++i == glob.size()) return false;
    const auto byte = static_cast<unsigned char>(glob[i++]);
    for (unsigned c = is_range ? static_cast<unsigned>(first) : byte; c <= byte; ++c)
      token.set.set(c);
    first = is_range ? -1 : byte;
  }
  if (i >= glob.size()) return false;
  if (is_inverted) token.set.flip();
  token.set.reset('/');
  tokens_.push_back(token);
  return true;
}

bool IgnorePattern::matches(std::string_view path, bool is_folder) const {
  if (is_for_folders_ && !is_folder) return false;
  if (!is_anchored_) path.remove_prefix(path.rfind('/') + 1);  // npos + 1 is 0
  return matches_whole(path);
}

// Enters a position, and the following ones whose tokens may match nothing.
void IgnorePattern::enter(Places& places, std::size_t i) const {
  for (places[i] = true; i < tokens_.size(); places[++i] = true)
    if (tokens_[i].kind != Token::Kind::some && tokens_[i].kind != Token::Kind::folders) break;
}

// The positions that one position reaches with one more byte.
void IgnorePattern::advance(std::size_t i, char c, Places& next) const {
  const Token& token = tokens_[i];
  switch (token.kind) {
    case Token::Kind::byte:
      if (c == token.byte) enter(next, i + 1);
      break;
    case Token::Kind::any:
      if (c != '/') enter(next, i + 1);
      break;
    case Token::Kind::set:
      if (token.set[static_cast<unsigned char>(c)]) enter(next, i + 1);
      break;
    case Token::Kind::some:
      if (c != '/') enter(next, i);
      break;
    case Token::Kind::folders:
      next[i] = true;  // within a folder's name, the pattern cannot continue
      if (c == '/') enter(next, i + 1);
      break;
    case Token::Kind::everything:
      next[i] = true;
      enter(next, i + 1);
      break;
  }
}

// Tracks all positions that the text read so far can reach, at once: the time per byte is at most
// proportional to the length of the pattern.
bool IgnorePattern::matches_whole(std::string_view text) const {
  Places now(tokens_.size() + 1), next(tokens_.size() + 1);
  enter(now, 0);
  for (const char c : text) {
    next.assign(next.size(), false);
    for (std::size_t i = 0; i < tokens_.size(); ++i)
      if (now[i]) advance(i, c, next);
    now.swap(next);
  }
  return now.back();
}

namespace {

constexpr std::size_t most_lines = 10'000;
constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

// `.git` is a file in worktrees and submodules.
constexpr std::string_view never_wanted =
    "__pycache__/\n*.py[co]\n*$py.class\n.git\n.vscode/\n.idea/\n.mypy_cache/\n"
    ".detignore\n.trainignore\n";

}  // namespace

IgnoreRules::IgnoreRules() { add(never_wanted, ""); }

bool IgnoreRules::add(std::string_view text, std::string_view folder) {
  return add_to(rules_, text, folder);
}

bool IgnoreRules::add_last(std::string_view text) { return add_to(last_rules_, text, ""); }

bool IgnoreRules::add_to(std::vector<Rule>& rules, std::string_view text, std::string_view folder) {
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  const std::string prefix = folder.empty() ? "" : std::string(folder) + "/";
  for (std::size_t lines = 0; !text.empty(); ++lines) {
    if (lines == most_lines) return false;
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (auto pattern = IgnorePattern::parse(text.substr(0, end)))
      rules.push_back({prefix, std::move(*pattern)});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return true;
}

bool IgnoreRules::ignores(std::string_view path, bool is_folder) const {
  for (const std::vector<Rule>* rules : {&last_rules_, &rules_})
    for (auto rule = rules->rbegin(); rule != rules->rend(); ++rule)
      if (path.starts_with(rule->folder) &&
          rule->pattern.matches(path.substr(rule->folder.size()), is_folder))
        return !rule->pattern.is_negated();
  return false;
}

}  // namespace train
