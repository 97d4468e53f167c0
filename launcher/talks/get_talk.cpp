// SPDX-License-Identifier: Apache-2.0
#include "launcher/talks/get_talk.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "launcher/frames/json_fields.hpp"

namespace train {

using nlohmann::json;

namespace get_talk {

std::string_view to_string(Kind kind) {
  switch (kind) {
    case Kind::file:
      return "file";
    case Kind::folder:
      return "folder";
    case Kind::link:
      return "link";
  }
  return "file";
}

bool is_same(const Identity& one, const Identity& other) {
  if (!one.born.empty() && !other.born.empty()) return one.born == other.born;
  return !one.changed.empty() && one.changed == other.changed;
}

}  // namespace get_talk

namespace {

using namespace get_talk;

constexpr std::size_t longest_name = 255;
constexpr std::size_t longest_identity = 64;
constexpr std::size_t longest_reason = 2 * longest_get_path;
constexpr int highest_mode = 0777;
constexpr std::size_t frame_header = 5;
constexpr std::string_view part_prefix = ".train-get.";
constexpr std::size_t part_digits = 16;

bool has_nul(std::string_view text) { return text.find('\0') != text.npos; }

json json_of(const Start& start) {
  return {{"type", "start"},
          {"path", from_bytes(start.path)},
          {"directory", from_bytes(start.directory)},
          {"in_context", start.in_context}};
}
json json_of(const Taken& taken) { return {{"type", "taken"}, {"bytes", taken.bytes}}; }
json json_of(const Alive&) { return {{"type", "alive"}}; }
json json_of(const Found& found) {
  return {{"type", "found"},
          {"kind", to_string(found.kind)},
          {"path", from_bytes(found.path)},
          {"mode", found.mode},
          {"size", found.size},
          {"born", from_bytes(found.identity.born)},
          {"changed", from_bytes(found.identity.changed)}};
}
json json_of(const Entry& entry) {
  json value{{"type", "entry"}, {"kind", to_string(entry.kind)}, {"name", from_bytes(entry.name)}};
  if (entry.kind == Kind::link)
    value["target"] = from_bytes(entry.target);
  else
    value["mode"] = entry.mode;
  if (entry.kind == Kind::file) value["size"] = entry.size;
  return value;
}
json json_of(const FileEnd& end) { return {{"type", "file_end"}, {"whole", end.is_whole}}; }
json json_of(const FolderEnd&) { return {{"type", "folder_end"}}; }
json json_of(const Trouble& trouble) {
  return {{"type", "trouble"},
          {"path", from_bytes(trouble.path)},
          {"why", from_bytes(trouble.why)},
          {"loss", trouble.is_loss}};
}
json json_of(const End& end) {
  json value{{"type", "end"}};
  if (end.refusal.empty()) return value;
  value["refusal"] = from_bytes(end.refusal);
  value["hint"] = from_bytes(end.hint);
  return value;
}

std::string path_field(const json& value, const char* name, std::size_t longest) {
  std::string path = text_field(value, name, longest);
  if (has_nul(path)) throw Malformed{"a path with a NUL"};
  return path;
}

std::uint64_t size_field(const json& value, const char* name) {
  return static_cast<std::uint64_t>(number_field(value, name));
}

unsigned mode_of(const json& value) {
  return static_cast<unsigned>(int_field(value, "mode", 0, highest_mode));
}

Kind kind_of(const json& value) {
  constexpr Kind all[] = {Kind::file, Kind::folder, Kind::link};
  return enum_field(value, "kind", all, "a kind that there is not");
}

Start start_of(const json& value) {
  Start start{path_field(value, "path", longest_get_path),
              path_field(value, "directory", longest_get_path), bool_field(value, "in_context")};
  if (start.path.empty()) throw Malformed{"a path that is empty"};
  return start;
}

Found found_of(const json& value) {
  Found found{kind_of(value),
              path_field(value, "path", longest_get_path),
              mode_of(value),
              size_field(value, "size"),
              {text_field(value, "born", longest_identity),
               text_field(value, "changed", longest_identity)}};
  if (found.kind == Kind::link) throw Malformed{"a link in place of what it leads to"};
  if (found.kind != Kind::file && found.size != 0) throw Malformed{"the size of no file"};
  return found;
}

Entry entry_of(const json& value) {
  Entry entry;
  entry.kind = kind_of(value);
  entry.name = text_field(value, "name", longest_name);
  if (!is_entry_name(entry.name)) throw Malformed{"a name that leaves its folder"};
  if (entry.kind == Kind::link) {
    entry.target = path_field(value, "target", longest_get_path);
    if (entry.target.empty()) throw Malformed{"a link that leads nowhere"};
  } else {
    entry.mode = mode_of(value);
  }
  if (entry.kind == Kind::file) entry.size = size_field(value, "size");
  return entry;
}

End end_of(const json& value) {
  End end;
  if (!value.contains("refusal")) return end;
  end.refusal = text_field(value, "refusal", longest_reason);
  end.hint = text_field(value, "hint", longest_reason);
  if (end.refusal.empty()) throw Malformed{"a refusal without a reason"};
  return end;
}

GetMessage message_of(const json& value) {
  constexpr std::size_t longest_type = 32;
  const std::string type = text_field(value, "type", longest_type);
  if (type == "start") return start_of(value);
  if (type == "taken") return Taken{size_field(value, "bytes")};
  if (type == "alive") return Alive{};
  if (type == "found") return found_of(value);
  if (type == "entry") return entry_of(value);
  if (type == "file_end") return FileEnd{bool_field(value, "whole")};
  if (type == "folder_end") return FolderEnd{};
  if (type == "trouble")
    return Trouble{path_field(value, "path", longest_get_path),
                   text_field(value, "why", longest_reason), bool_field(value, "loss")};
  if (type == "end") return end_of(value);
  throw Malformed{"a message of no known type"};
}

tl::unexpected<Error> out_of_order(std::string what) {
  return tl::make_unexpected(not_our_protocol("sent " + std::move(what)));
}

}  // namespace

bool is_entry_name(std::string_view name) {
  return !name.empty() && name.size() <= longest_name && name != "." && name != ".." &&
         name.find('/') == name.npos && !has_nul(name);
}

std::string get_part_name(std::uint64_t random_bits) {
  return fmt::format("{}{:016x}", part_prefix, random_bits);
}

bool is_get_part(std::string_view name) {
  return name.starts_with(part_prefix) && name.size() == part_prefix.size() + part_digits &&
         name.find_first_not_of("0123456789abcdef", part_prefix.size()) == name.npos;
}

std::string encode_get(const GetMessage& message) {
  return encode_frame(FrameKind::control,
                      std::visit([](const auto& one) { return json_of(one); }, message).dump());
}

Result<GetMessage> decode_get(std::string_view payload) {
  return decode_document<GetMessage>(payload, max_control_payload,
                                     "what is said of files is not understood", message_of);
}

std::uint64_t get_frame_size(std::string_view payload) { return frame_header + payload.size(); }

Result<void> GetOrder::begin(Kind kind, std::uint64_t size) {
  if (kind == Kind::file) {
    is_file_open_ = true;
    is_file_in_trouble_ = false;
    left_ = size;
  }
  if (kind != Kind::folder) return {};
  if (++open_folders_ > deepest_get_folder + 1) return out_of_order("a folder that lies too deep");
  return {};
}

Result<void> GetOrder::take(const GetMessage& message) {
  if (is_over_) return out_of_order("something after the end");
  if (std::holds_alternative<Alive>(message)) return {};
  if (const auto* found = std::get_if<Found>(&message)) {
    if (has_found_) return out_of_order("a second beginning");
    has_found_ = true;
    return begin(found->kind, found->size);
  }
  if (const auto* end = std::get_if<End>(&message)) {
    const bool is_complete = has_found_ && !is_file_open_ && open_folders_ == 0;
    if (end->refusal.empty() ? !is_complete : has_found_) return out_of_order("an early end");
    is_over_ = true;
    return {};
  }
  if (!has_found_) return out_of_order("something before the beginning");
  if (const auto* trouble = std::get_if<Trouble>(&message)) {
    if (trouble->is_loss) is_file_in_trouble_ = true;
    return {};
  }
  if (const auto* end = std::get_if<FileEnd>(&message)) {
    if (!is_file_open_) return out_of_order("the end of no file");
    if (end->is_whole == is_file_in_trouble_)
      return out_of_order("a file that is whole and is not");
    if (end->is_whole && left_ > 0) return out_of_order("less of a file than it has");
    is_file_open_ = false;
    return {};
  }
  const bool is_in_folder = open_folders_ > 0 && !is_file_open_;
  if (std::holds_alternative<FolderEnd>(message)) {
    if (!is_in_folder) return out_of_order("the end of no folder");
    --open_folders_;
    return {};
  }
  const auto* entry = std::get_if<Entry>(&message);
  if (entry == nullptr || !is_in_folder) return out_of_order("something that is in no folder");
  if (++entries_ > most_get_entries)
    return fail(ErrorClass::host, fmt::format("it has more than {} entries", most_get_entries),
                "get the folders in it one by one");
  return begin(entry->kind, entry->size);
}

Result<void> GetOrder::take_content(std::size_t bytes) {
  if (is_over_ || !is_file_open_) return out_of_order("content of no file");
  if (bytes == 0 || bytes > left_) return out_of_order("another amount of a file than it has");
  left_ -= bytes;
  return {};
}

}  // namespace train
