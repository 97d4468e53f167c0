// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh_config/ssh_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

namespace train {

namespace {

constexpr std::size_t max_settings = 1u << 20;
constexpr std::size_t max_paths = 1000;
constexpr std::chrono::seconds longest_timeout = std::chrono::hours(24);

// As OpenSSH 9.2 prints them; other versions know fewer or more kinds.
constexpr std::string_view default_files[] = {
    "~/.ssh/id_rsa",        "~/.ssh/id_ecdsa", "~/.ssh/id_ecdsa_sk", "~/.ssh/id_ed25519",
    "~/.ssh/id_ed25519_sk", "~/.ssh/id_xmss",  "~/.ssh/id_dsa"};

std::optional<int> to_number(std::string_view text, int least, int most) {
  int number = 0;
  const auto end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stopped != end || number < least || number > most)
    return std::nullopt;
  return number;
}

std::vector<std::string> split_at(std::string_view text, char separator) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

// Splits paths at blanks. ssh prints several paths without quotes, but all of them are absolute: so
// a word that does not begin with a slash belongs to the path before it, which has a blank.
std::vector<std::string> split_paths(std::string_view text) {
  std::vector<std::string> paths;
  for (std::string& word : split_at(text, ' ')) {
    const bool goes_on = !paths.empty() && word.front() != '/' && word.front() != '~';
    if (goes_on)
      paths.back().append(" ").append(word);
    else
      paths.push_back(std::move(word));
  }
  if (paths == std::vector<std::string>{"none"}) paths.clear();
  return paths;
}

using ReadSetting = bool (*)(SshSettings&, std::string_view);

template <auto member>
bool text(SshSettings& settings, std::string_view value) {
  settings.*member = value == "none" ? "" : value;
  return true;
}

template <auto member>
bool algorithms(SshSettings& settings, std::string_view value) {
  settings.*member = split_at(value, ',');
  return true;
}

template <auto member>
bool paths(SshSettings& settings, std::string_view value) {
  settings.*member = split_paths(value);
  return true;
}

template <auto member>
bool one_more_path(SshSettings& settings, std::string_view value) {
  auto& list = settings.*member;
  if (list.size() >= max_paths) return false;
  if (value != "none") list.emplace_back(value);
  return true;
}

// Depending on the option and its version, ssh prints "yes" or "true", "no" or "false".
template <auto member>
bool flag(SshSettings& settings, std::string_view value) {
  settings.*member = value == "yes" || value == "true";
  return settings.*member || value == "no" || value == "false";
}

bool port(SshSettings& settings, std::string_view value) {
  const auto number = to_number(value, 1, 65'535);
  settings.port = number.value_or(22);
  return number.has_value();
}

bool connect_timeout(SshSettings& settings, std::string_view value) {
  if (value == "none" || value == "0") return true;
  const auto number = to_number(value, 1, longest_timeout.count());
  if (number) settings.connect_timeout = std::chrono::seconds(*number);
  return number.has_value();
}

bool address_family(SshSettings& settings, std::string_view value) {
  settings.address_family = value == "inet"    ? AddressFamily::ipv4
                            : value == "inet6" ? AddressFamily::ipv6
                                               : AddressFamily::any;
  return value == "any" || value == "inet" || value == "inet6";
}

bool strict_host_keys(SshSettings& settings, std::string_view value) {
  const bool is_off = value == "no" || value == "off" || value == "false";
  settings.strict_host_keys = is_off                  ? StrictHostKeys::no
                              : value == "accept-new" ? StrictHostKeys::accept_new
                              : value == "ask"        ? StrictHostKeys::ask
                                                      : StrictHostKeys::yes;
  return is_off || value == "accept-new" || value == "ask" || value == "yes" || value == "true";
}

// "host-bound" and "unbound" mean yes, with and without an extension of the protocol.
bool public_key_authentication(SshSettings& settings, std::string_view value) {
  settings.public_key_authentication = value != "no" && value != "false";
  return true;
}

// Here "none" differs from no value: without the option the agent is asked.
bool identity_agent(SshSettings& settings, std::string_view value) {
  settings.identity_agent = value;
  return true;
}

using S = SshSettings;
const std::map<std::string_view, ReadSetting> readers = {
    {"hostname", text<&S::hostname>},
    {"user", text<&S::user>},
    {"port", port},
    {"addressfamily", address_family},
    {"bindaddress", text<&S::bind_address>},
    {"bindinterface", text<&S::bind_interface>},
    {"connecttimeout", connect_timeout},
    {"proxyjump", text<&S::proxy_jump>},
    {"proxycommand", text<&S::proxy_command>},
    {"stricthostkeychecking", strict_host_keys},
    {"hostkeyalias", text<&S::host_key_alias>},
    {"userknownhostsfile", paths<&S::user_known_hosts>},
    {"globalknownhostsfile", paths<&S::global_known_hosts>},
    {"hashknownhosts", flag<&S::hash_known_hosts>},
    {"knownhostscommand", text<&S::known_hosts_command>},
    {"revokedhostkeys", text<&S::revoked_host_keys>},
    {"identityfile", one_more_path<&S::identity_files>},
    {"identitiesonly", flag<&S::identities_only>},
    {"identityagent", identity_agent},
    {"certificatefile", one_more_path<&S::certificate_files>},
    {"pkcs11provider", text<&S::pkcs11_provider>},
    {"pubkeyauthentication", public_key_authentication},
    {"preferredauthentications", algorithms<&S::preferred_authentications>},
    {"kexalgorithms", algorithms<&S::key_exchanges>},
    {"ciphers", algorithms<&S::ciphers>},
    {"macs", algorithms<&S::macs>},
    {"hostkeyalgorithms", algorithms<&S::host_key_algorithms>},
    {"pubkeyacceptedalgorithms", algorithms<&S::public_key_algorithms>},
    {"pubkeyacceptedkeytypes", algorithms<&S::public_key_algorithms>},  // before OpenSSH 8.5
};

tl::unexpected<Error> refuse(std::string_view what) {
  return fail(ErrorClass::host, fmt::format("the output of 'ssh -G' makes no sense: {}", what),
              "look at it: ssh -G HOST");
}

}  // namespace

std::vector<std::string> default_identities() {
  return {std::begin(default_files), std::end(default_files)};
}

bool are_default_identities(const std::vector<std::string>& files) {
  return std::all_of(files.begin(), files.end(), [](const std::string& file) {
    return std::find(std::begin(default_files), std::end(default_files), file) !=
           std::end(default_files);
  });
}

Result<SshSettings> parse_ssh_settings(std::string_view output) {
  if (output.size() > max_settings) return refuse("it has more than 1 MiB");
  SshSettings settings;
  bool has_port = false;
  while (!output.empty()) {
    const std::size_t end = std::min(output.find('\n'), output.size());
    std::string_view value = output.substr(0, end);
    output.remove_prefix(std::min(end + 1, output.size()));
    const std::string_view key = value.substr(0, value.find(' '));
    value.remove_prefix(std::min(key.size() + 1, value.size()));
    const auto reader = readers.find(key);
    if (reader == readers.end() || value.empty()) continue;
    if (!reader->second(settings, value)) return refuse(fmt::format("'{} {}'", key, value));
    has_port = has_port || key == "port";
  }
  if (settings.hostname.empty() || !has_port) return refuse("it names no host and port");
  return settings;
}

}  // namespace train
