// SPDX-License-Identifier: Apache-2.0
#include "config_schema/yaml/yaml_document.hpp"

#include <fmt/format.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <string_view>

#include "config_schema/text/place.hpp"
#include "config_schema/text/text.hpp"
#include "config_schema/yaml/yaml_builder.hpp"

namespace train {

namespace {

// Whether the quoted scalar at `begin` of the text is closed: yaml-cpp accepts the end of the text
// as a closing quote after a newline. Unquoted scalars count as closed.
bool is_closed(std::string_view text, std::size_t begin) {
  while (begin < text.size() && (text[begin] == '!' || text[begin] == '&')) {
    begin = text.find_first_of(" \n", begin);
    begin = text.find_first_not_of(" \n", std::min(begin, text.size()));
  }
  if (begin >= text.size() || (text[begin] != '"' && text[begin] != '\'')) return true;
  const char quote = text[begin];
  for (std::size_t i = begin + 1; i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      const bool is_doubled = quote == '\'' && i + 1 < text.size() && text[i + 1] == quote;
      if (!is_doubled) return true;
      ++i;
    }
  }
  return false;
}

// The first bracket that is nested deeper than any sensible text, or npos. yaml-cpp stores
// everything after an open bracket, 240 bytes each, before it checks the depth. Brackets in quotes
// and comments count here as well, so this bound is far above `max_yaml_depth`.
std::size_t find_deep_bracket(std::string_view text) {
  constexpr int most_open = 10'000;
  int open = 0;
  for (std::size_t i = text.find_first_of("[]{}"); i != text.npos;
       i = text.find_first_of("[]{}", i + 1)) {
    const bool opens = text[i] == '[' || text[i] == '{';
    open = opens ? open + 1 : std::max(open - 1, 0);
    if (open > most_open) return i;
  }
  return text.npos;
}

// Passes yaml-cpp's events to the builder, with marks of train.
class EventReader : public YAML::EventHandler {
 public:
  EventReader(YamlBuilder& builder, std::string_view bytes, std::shared_ptr<const YamlSource> text,
              std::size_t shift)
      : builder_(builder), bytes_(bytes), text_(std::move(text)), shift_(shift) {}

  YamlMark mark_of(const YAML::Mark& mark) {
    const int line = std::max(mark.line, 0);
    const auto offset = static_cast<std::size_t>(std::max(mark.column, 0)) + (line ? 0 : shift_);
    const auto index = static_cast<std::size_t>(line);
    if (index >= text_->lines.size()) return {text_, line + 1, 1};
    return {text_, line + 1, column_at(index, offset)};
  }

  void OnDocumentStart(const YAML::Mark& mark) override { start = mark_of(mark); }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    builder_.add_scalar(mark_of(mark), "?", anchor, "null");
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    builder_.add_alias(mark_of(mark), anchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    const bool is_plain = tag == "?" || mark.pos < 0;
    if (!is_plain && !unclosed && !is_closed(bytes_, static_cast<std::size_t>(mark.pos)))
      unclosed = mark_of(mark);
    builder_.add_scalar(mark_of(mark), tag, anchor, value);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    builder_.begin(YamlKind::sequence, mark_of(mark), tag, anchor);
  }
  void OnSequenceEnd() override { builder_.end(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    builder_.begin(YamlKind::mapping, mark_of(mark), tag, anchor);
  }
  void OnMapEnd() override { builder_.end(); }

  YamlMark start;
  std::optional<YamlMark> unclosed;  // a quoted scalar without its closing quote

 private:
  // Counts from the last requested column: a file may be one line of megabytes.
  int column_at(std::size_t line, std::size_t offset) {
    const std::string_view text = text_->lines[line];
    offset = std::min(offset, text.size());
    if (line != line_ || offset < offset_) {
      const bool is_near = line == line_ && offset > offset_ / 2;
      column_ = is_near ? column_ - count_characters(text.substr(offset, offset_ - offset))
                        : 1 + count_characters(text.substr(0, offset));
    } else {
      column_ += count_characters(text.substr(offset_, offset - offset_));
    }
    line_ = line;
    offset_ = offset;
    return column_;
  }

  YamlBuilder& builder_;
  std::string_view bytes_;
  std::shared_ptr<const YamlSource> text_;
  std::size_t shift_;
  std::size_t line_ = 0;
  std::size_t offset_ = 0;
  int column_ = 1;
};

// Records where a further document begins, and ignores its contents.
class Ignored : public YAML::EventHandler {
 public:
  explicit Ignored(EventReader& reader) : reader_(reader) {}
  void OnDocumentStart(const YAML::Mark& mark) override { start = reader_.mark_of(mark); }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

  YamlMark start;

 private:
  EventReader& reader_;
};

// The line of the first tab in the indentation of a broken line or the line above it, or 0:
// yaml-cpp's own message for a tab is misleading.
int find_tab(const YamlSource& text, int line) {
  for (int back = 0; back < 2 && line - back >= 1; ++back) {
    const auto index = static_cast<std::size_t>(line - back - 1);
    if (index >= text.lines.size()) continue;
    const std::string& candidate = text.lines[index];
    const std::size_t first = candidate.find_first_not_of(" \t");
    if (first != candidate.npos && candidate.substr(0, first).find('\t') != candidate.npos)
      return line - back;
  }
  return 0;
}

void report_syntax(Diagnostics& diagnostics, const YamlMark& mark, const std::string& cause) {
  if (const int line = find_tab(*mark.text, mark.line)) {
    const std::string& text = mark.text->lines[static_cast<std::size_t>(line - 1)];
    const int column = static_cast<int>(text.find('\t')) + 1;
    diagnostics.error(place_of({mark.text, line, column}), {}, "a tab in the indentation",
                      "YAML is indented with spaces only");
    return;
  }
  diagnostics.error(place_of(mark), {}, fmt::format("invalid YAML: {}", cause),
                    "check indentation, quotes and brackets here and just above");
}

// Runs yaml-cpp and reports its error, if any; a second document is an error too.
void run_parser(const std::string& text, EventReader& reader, const YamlBuilder& builder,
                Diagnostics& diagnostics) {
  const auto& verdict = builder.verdict();
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(reader) || verdict) return;
    Ignored ignored(reader);
    if (parser.HandleNextDocument(ignored))
      diagnostics.error(place_of(ignored.start), {}, "a second document begins here",
                        "one file holds one document: remove '---'");
  } catch (const YAML::DeepRecursion& error) {
    diagnostics.error(place_of(reader.mark_of(error.mark)), {},
                      fmt::format("nested deeper than {} levels", max_yaml_depth));
  } catch (const YAML::Exception& error) {
    if (!verdict || !verdict->is_certain)
      report_syntax(diagnostics, reader.mark_of(error.mark), error.msg);
  }
}

// nullptr after an error that leaves no usable tree.
YamlNodePtr parse(const std::string& text, const std::shared_ptr<const YamlSource>& lines,
                  std::size_t shift, Diagnostics& diagnostics) {
  YamlBuilder builder(diagnostics);
  EventReader reader(builder, text, lines, shift);
  Diagnostics syntax;
  run_parser(text, reader, builder, syntax);
  const std::string& source = lines->name;
  if (reader.unclosed) {
    diagnostics.error(place_of(*reader.unclosed), {}, "the quote is not closed",
                      "add the closing quote");
  } else if (syntax.has_errors()) {
    const Error error = syntax.take_error(ErrorClass::config, source);
    const Diagnostic& found = error.diagnostics.front();
    diagnostics.error(found.place, {}, found.message, found.hint);
  } else if (const auto& verdict = builder.verdict()) {
    const Diagnostic& found = verdict->diagnostic;
    diagnostics.error(found.place, {}, found.message, found.hint);
  } else {
    return builder.take_root();
  }
  return nullptr;
}

void cover_with_stars(YamlSource& text, std::vector<TextSpan> spans) {
  std::sort(spans.begin(), spans.end());
  spans.erase(std::unique(spans.begin(), spans.end()), spans.end());
  // From the end, so that earlier positions stay valid.
  for (auto span = spans.rbegin(); span != spans.rend(); ++span) {
    std::string& line = text.lines[span->line];
    const std::size_t size = span->end - span->begin;
    const int width = count_characters(std::string_view(line).substr(span->begin, size));
    line.replace(span->begin, size, std::string(static_cast<std::size_t>(width), '*'));
  }
}

// Hides the confidential parts in the lines of the text, and in the faults found so far.
void hide(const ConfidentialParts& hidden, const YamlNodePtr& root, std::string_view bytes,
          YamlSource& text, Diagnostics& faults) {
  if (!hidden.in_tree) return;
  if (root) {
    cover_with_stars(text, hidden.in_tree(*root, text));
  } else if (hidden.may_be_in(bytes)) {
    for (std::string& line : text.lines) line.clear();
  } else {
    return;
  }
  faults.show_lines_of(text.name, text.lines);
}

}  // namespace

Result<YamlNodePtr> read_yaml_flag(const SourceText& source, std::size_t value_begin,
                                   ErrorClass error_class, const ConfidentialParts& hidden) {
  auto lines = std::make_shared<YamlSource>();
  lines->name = source.name;
  lines->is_flag = true;
  if (const auto trouble = find_text_fault(source.text))
    return fail(error_class, fmt::format("{} holds {}", source.name, trouble->reason));
  lines->lines = split_lines(source.text);
  Diagnostics diagnostics;
  auto root = parse(source.text.substr(value_begin), lines, value_begin, diagnostics);
  hide(hidden, root, source.text, *lines, diagnostics);
  if (diagnostics.has_errors())
    return tl::make_unexpected(diagnostics.take_error(error_class, source.name));
  return root;
}

Result<YamlNodePtr> read_yaml(const SourceText& source, ErrorClass error_class) {
  Diagnostics faults;
  auto root = read_yaml_tree(source, error_class, faults);
  if (root && faults.has_errors())
    return tl::make_unexpected(faults.take_error(error_class, source.name));
  return root;
}

Result<YamlNodePtr> read_yaml_tree(const SourceText& source, ErrorClass error_class,
                                   Diagnostics& faults, const ConfidentialParts& hidden) {
  const Place whole{.source = source.name, .line = 0, .column = 0, .text = {}};
  const auto refuse = [&](Place place, std::string message, std::string hint) {
    faults.error(std::move(place), {}, std::move(message), std::move(hint));
    return tl::make_unexpected(faults.take_error(error_class, source.name));
  };
  if (source.text.size() > max_yaml_bytes)
    return refuse(
        whole,
        fmt::format("{} bytes are more than the {} allowed", source.text.size(), max_yaml_bytes),
        "is this the right file?");
  if (const auto trouble = find_text_fault(source.text)) {
    Place place = whole;
    place.line = trouble->line;
    return refuse(place, fmt::format("this is no YAML text: it holds {}", trouble->reason),
                  "is this the right file? It must be UTF-8");
  }
  const std::string text = normalize_text(source.text);
  if (const std::size_t bracket = find_deep_bracket(text); bracket != text.npos)
    return refuse(PlaceCursor(source.name, text).shown_at(bracket),
                  fmt::format("nested deeper than {} levels", max_yaml_depth), {});
  auto lines = std::make_shared<YamlSource>();
  lines->name = source.name;
  lines->lines = split_lines(text);
  YamlNodePtr root = parse(text, lines, 0, faults);
  hide(hidden, root, text, *lines, faults);
  if (!root) return tl::make_unexpected(faults.take_error(error_class, source.name));
  return root;
}

}  // namespace train
