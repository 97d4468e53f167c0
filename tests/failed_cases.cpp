// SPDX-License-Identifier: Apache-2.0
// Names each case that failed in a line that tests/run.sh reads, which tries it again alone; not
// where the case has the tag [once]: a fault that shows once in many runs of it is one.
#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include <algorithm>
#include <iostream>
#include <string>

#include "tests/catch.hpp"

namespace {

#if CATCH_VERSION_MAJOR >= 3
using Listener = Catch::EventListenerBase;
const Catch::TestCaseInfo& case_of(const Catch::TestCaseStats& stats) { return *stats.testInfo; }
std::string text_of(const Catch::Tag& tag) { return std::string(tag.original); }
#else
using Listener = Catch::TestEventListenerBase;
const Catch::TestCaseInfo& case_of(const Catch::TestCaseStats& stats) { return stats.testInfo; }
std::string text_of(const std::string& tag) { return tag; }
#endif

bool is_tried_once(const Catch::TestCaseInfo& info) {
  return std::any_of(info.tags.begin(), info.tags.end(),
                     [](const auto& tag) { return text_of(tag) == "once"; });
}

class FailedCases : public Listener {
 public:
  using Listener::Listener;

  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    if (stats.totals.assertions.allOk()) return;
    const Catch::TestCaseInfo& info = case_of(stats);
    std::cout << "FAILED CASE" << (is_tried_once(info) ? " (no second try): " : ": ") << info.name
              << std::endl;
  }
};
CATCH_REGISTER_LISTENER(FailedCases)

}  // namespace
