// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "backends/event_loop/loop.hpp"
#include "launcher/ports/transport.hpp"
#include "tests/catch.hpp"
#include "tests/contains.hpp"
#include "tests/support/loop_until.hpp"

namespace train::testing {

/// Stands in for the binary: an agent that greets and then echoes, or ends as its key says.
inline const std::string fake_binary =
    "#!/bin/sh\n"
    "[ \"$1\" = --version ] && exit 0\n"
    "echo \"agent $3\"\n"
    "case $3 in exit-3) echo oh dear >&2; exit 3;; killed) kill -9 $$;; esac\n"
    "exec cat\n";

/// A link and what it said; stops the loop at each.
struct LinkProbe {
  Loop& loop;
  int opened = 0;
  LinkInfo info;
  std::string bytes;
  std::optional<Error> closed;
  std::unique_ptr<HostLink> link;

  LinkProbe(Loop& event_loop, Transport& transport, const Host& host,
            const std::string& key = "t-0")
      : loop(event_loop) {
    LinkEvents events;
    events.on_open = [this](const LinkInfo& link_info) {
      ++opened;
      info = link_info;
      loop.stop();
    };
    events.on_bytes = [this](std::string_view piece) {
      bytes += piece;
      loop.stop();
    };
    events.on_closed = [this](const Error& why) {
      CHECK_FALSE(closed);
      closed = why;
      loop.stop();
    };
    link = transport.open(host, {key}, std::move(events));
  }
  LinkProbe(const LinkProbe&) = delete;
  LinkProbe& operator=(const LinkProbe&) = delete;

  std::string error() const { return closed ? render(*closed) : "no error"; }
};

/// Noise, a megabyte of it, always the same.
inline std::string megabyte_of_noise() {
  std::string noise;
  for (unsigned i = 0, x = 1; i < (1u << 20); ++i)
    noise += static_cast<char>((x = x * 1664525 + 1013904223) >> 24);
  return noise;
}

/// What an open link whose owner sent "first " before it opened sends now comes back, in order.
inline void expect_echo(LinkProbe& probe, const std::string& noise) {
  probe.link->send(noise);
  probe.link->send(" last");
  const std::string expected = "agent t-0\nfirst " + noise + " last";
  loop_until(probe.loop, [&] { return probe.bytes.size() >= expected.size() || probe.closed; });
  CHECK((probe.bytes == expected));
  CHECK(probe.link->unsent_bytes() == 0);
  CHECK_FALSE(probe.closed);
}

}  // namespace train::testing
