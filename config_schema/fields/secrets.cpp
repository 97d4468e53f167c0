// SPDX-License-Identifier: Apache-2.0
#include "config_schema/fields/secrets.hpp"

#include <algorithm>

#include "config_schema/fields/field_table.hpp"
#include "config_schema/text/text.hpp"

namespace train {

namespace {

constexpr std::string_view blanks = " \t";

std::size_t offset_of(std::string_view line, int column) {
  std::size_t offset = 0;
  while (--column > 0 && offset < line.size())
    offset += std::max<std::size_t>(utf8_length(line.substr(offset)), 1);
  return offset;
}

std::size_t indentation_of(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

// Walks over the lines of a text from the start of a scalar, and collects the spans that it covers.
class ScalarWalk {
 public:
  ScalarWalk(const YamlMark& begin, std::vector<TextSpan>& spans)
      : lines_(begin.text->lines), spans_(spans), line_(static_cast<std::size_t>(begin.line - 1)) {
    if (line_ < lines_.size()) at_ = offset_of(lines_[line_], begin.column);
  }

  void cover(const std::string& value) {
    skip_properties();
    if (line_ >= lines_.size() || at_ >= lines_[line_].size()) return;
    const char first = lines_[line_][at_];
    if (first == '"' || first == '\'')
      cover_quoted(first);
    else if (first == '|' || first == '>')
      cover_block();
    else if (!cover_words(value))
      cover_line();
  }

 private:
  bool skip_blanks() {
    while (line_ < lines_.size()) {
      at_ = lines_[line_].find_first_not_of(blanks, at_);
      if (at_ != std::string::npos) return true;
      ++line_;
      at_ = 0;
    }
    return false;
  }
  // Skips tags and anchors.
  void skip_properties() {
    while (skip_blanks() && (lines_[line_][at_] == '!' || lines_[line_][at_] == '&'))
      at_ = std::min(lines_[line_].find_first_of(blanks, at_), lines_[line_].size());
  }
  void cover_to(std::size_t end) {
    if (end > at_) spans_.push_back({line_, at_, end});
    at_ = end;
  }
  void cover_line() {
    cover_to(lines_[line_].size());
    if (++line_ < lines_.size()) at_ = indentation_of(lines_[line_]);
  }
  void cover_quoted(char quote) {
    for (std::size_t i = at_ + 1; line_ < lines_.size(); cover_line(), i = 0) {
      const std::string& line = lines_[line_];
      for (; i < line.size(); ++i) {
        if (quote == '"' && line[i] == '\\') {
          ++i;
        } else if (line[i] == quote) {
          const bool is_doubled = quote == '\'' && i + 1 < line.size() && line[i + 1] == quote;
          if (!is_doubled) return cover_to(i + 1);
          ++i;
        }
      }
    }
  }
  // Covers the lines that are indented more than the line of the key, which contain the scalar.
  void cover_block() {
    const std::size_t outside = indentation_of(lines_[line_]);
    cover_line();
    for (; line_ < lines_.size(); cover_line()) {
      const std::size_t indentation = indentation_of(lines_[line_]);
      if (indentation < lines_[line_].size() && indentation <= outside) return;
    }
  }
  // A plain scalar consists of its words, with blanks or newlines between them.
  bool cover_words(const std::string& value) {
    for (const std::string_view part : split(value, '\n'))
      for (const std::string_view word : split(part, ' ')) {
        if (word.empty()) continue;
        if (!skip_blanks() || std::string_view(lines_[line_]).substr(at_, word.size()) != word)
          return false;
        cover_to(at_ + word.size());
      }
    return true;
  }

  const std::vector<std::string>& lines_;
  std::vector<TextSpan>& spans_;
  std::size_t line_;
  std::size_t at_ = 0;
};

// Whether any secret key has this last word.
bool is_secret_word(std::string_view word) {
  const auto& fields = experiment_fields().fields();
  return std::any_of(fields.begin(), fields.end(), [&](const Field& field) {
    return field.is_secret && leaf_of(field.path) == word;
  });
}

class SecretSearch {
 public:
  explicit SecretSearch(const YamlSource& text) : text_(text) {}

  void search(const YamlNode& node, const std::string& path) {
    if (is_secret_path(path)) return cover(node);
    for (const YamlEntry& entry : node.entries) {
      const std::string inside = path.empty() ? entry.key : path + "." + entry.key;
      if (experiment_fields().find(inside)) search(*entry.value, inside);
      if (path.empty() && is_users_own(experiment_fields(), entry.key)) search_own(*entry.value);
    }
  }
  std::vector<TextSpan> take() { return std::move(spans_); }

 private:
  // A part below a user's own key may be an anchor for another place, so names of secret keys count
  // there at any level.
  void search_own(const YamlNode& node) {
    for (const YamlNodePtr& item : node.items) search_own(*item);
    for (const YamlEntry& entry : node.entries)
      is_secret_word(entry.key) ? cover(*entry.value) : search_own(*entry.value);
  }
  void cover(const YamlNode& node) {
    for (const YamlNodePtr& item : node.items) cover(*item);
    for (const YamlEntry& entry : node.entries) {
      cover(entry.mark, entry.key);
      cover(*entry.value);
    }
    if (node.is_scalar() && !node.is_null()) cover(node.mark, node.text);
  }
  void cover(const YamlMark& mark, const std::string& scalar) {
    if (mark.text.get() == &text_) ScalarWalk(mark, spans_).cover(scalar);
  }

  const YamlSource& text_;
  std::vector<TextSpan> spans_;
};

// Whether the text of an unreadable experiment may contain a secret.
bool names_secret(std::string_view text) {
  const auto& fields = experiment_fields().fields();
  return std::any_of(fields.begin(), fields.end(), [&](const Field& field) {
    return field.is_secret && text.find(leaf_of(field.path)) != text.npos;
  });
}

}  // namespace

bool is_secret_path(std::string_view path) {
  for (; !path.empty(); path = parent_of(path))
    if (const Field* field = experiment_fields().find(path); field && field->is_secret) return true;
  return false;
}

ConfidentialParts experiment_secrets(const std::string& path) {
  return {[path](const YamlNode& root, const YamlSource& text) {
            SecretSearch found(text);
            found.search(root, path);
            return found.take();
          },
          names_secret};
}

std::string without_secrets(const std::string& text) {
  Diagnostics faults;
  const auto root = read_yaml_tree({"experiment", text}, ErrorClass::config, faults);
  if (!root || !(*root)->mark.text) return text;
  const YamlSource& read = *(*root)->mark.text;
  std::vector<TextSpan> spans = experiment_secrets().in_tree(**root, read);
  if (spans.empty()) return text;
  std::sort(spans.begin(), spans.end());
  spans.erase(std::unique(spans.begin(), spans.end()), spans.end());
  std::vector<std::string> lines = read.lines;
  // From the end, so that earlier positions stay valid.
  for (auto span = spans.rbegin(); span != spans.rend(); ++span)
    lines[span->line].replace(span->begin, span->end - span->begin, "(redacted)");
  std::string redacted;
  for (const std::string& line : lines) redacted += line + "\n";
  return redacted;
}

}  // namespace train
