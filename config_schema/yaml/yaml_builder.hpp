// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "config_schema/text/diagnostics.hpp"
#include "config_schema/yaml/yaml_node.hpp"

namespace train {

/// Builds a tree of nodes from the events of one YAML document, within bounds. After an error that
/// leaves no usable tree (`verdict`), further events are ignored.
class YamlBuilder {
 public:
  explicit YamlBuilder(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  /// A scalar; `tag` is "?" for a plain one, "!" for a quoted one, else the full tag.
  void add_scalar(const YamlMark& mark, const std::string& tag, std::size_t anchor,
                  const std::string& text);
  void add_alias(const YamlMark& mark, std::size_t anchor);
  void begin(YamlKind kind, const YamlMark& mark, const std::string& tag, std::size_t anchor);
  void end();

  /// Why the builder gave up; nothing if it did not. If `is_certain` is false, an error of the
  /// parser is more accurate: an unclosed bracket makes a list look like a key.
  struct Verdict {
    Diagnostic diagnostic;
    bool is_certain = true;
  };
  const std::optional<Verdict>& verdict() const { return verdict_; }
  /// The document; null if it had no content.
  YamlNodePtr take_root();

 private:
  struct Open {
    std::shared_ptr<YamlNode> node;
    std::size_t anchor = 0;
    bool has_key = false;
    bool key_is_plain = false;
    std::string key;
    YamlMark key_mark;
    std::vector<YamlEntry> merged;               ///< values of `<<`
    std::unordered_map<std::string, int> lines;  ///< of the keys so far
  };

  void give_up(const YamlMark& mark, std::string message, std::string hint = {});
  bool awaits_key() const;
  void take_key(const YamlMark& mark, const std::string& text, bool is_plain);
  void add(YamlNodePtr node);
  void add_entry(Open& open, YamlNodePtr node);
  void resolve_merges(Open& open);
  void merge_mapping(Open& open, const YamlEntry& merge, const YamlNode& mapping);

  Diagnostics& diagnostics_;
  std::vector<Open> open_;
  std::unordered_map<std::size_t, YamlNodePtr> anchors_;
  YamlNodePtr root_;
  std::size_t created_ = 0;
  std::optional<Verdict> verdict_;
};

}  // namespace train
