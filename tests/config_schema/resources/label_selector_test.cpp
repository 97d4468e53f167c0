// SPDX-License-Identifier: Apache-2.0
// Ray's label selectors: the grammar, and which hosts they take.
#include "config_schema/resources/label_selector.hpp"

#include "tests/catch.hpp"

using namespace train;

namespace {

using Labels = std::map<std::string, std::string>;

bool takes(const std::string& label, const std::string& text, const Labels& labels) {
  const auto selector = read_label_conditions(label, text);
  REQUIRE(selector);
  return matches(*selector, labels);
}

}  // namespace

TEST_CASE("a host's label is compared with what the selector says") {
  struct Row {
    Labels labels;
    std::string text;  // of the label "zone"
    bool is_taken;
  };
  const Row row = GENERATE(values<Row>({
      {{{"zone", "us-west"}}, "us-west", true},
      {{{"zone", "us-west"}}, "us-east", false},
      {{{"zone", "us-west"}}, "!us-east", true},
      {{{"zone", "us-west"}}, "!us-west", false},
      {{}, "us-west", false},
      {{}, "!us-east", true},
      {{}, "in(A100, H100)", false},
      {{}, "!in(A100, H100)", true},
      {{{"zone", "A100"}}, "in(A100, H100)", true},
      {{{"zone", "A100"}}, "!in(A100, H100)", false},
      {{{"zone", "T4"}}, "in(A100,H100)", false},
      {{{"zone", "T4"}}, "!in(A100,H100)", true},
      {{{"zone", "value"}}, "in(value)", true},
      {{{"zone", ""}}, "exists()", true},
      {{{"zone", ""}}, "!exists()", false},
      {{}, "exists()", false},
      {{}, "!exists()", true},
      {{{"zone", ""}}, "", true},
      {{{"zone", "slice-c"}}, "exists(),!in(slice-a,slice-b)", true},
      {{{"zone", "slice-a"}}, "exists(),!in(slice-a,slice-b)", false},
      {{}, "exists(),!in(slice-a,slice-b)", false},
  }));
  CAPTURE(row.labels, row.text);
  CHECK(takes("zone", row.text, row.labels) == row.is_taken);
}

TEST_CASE("what is no selector is refused with the forms there are") {
  const std::string text = GENERATE(
      "-spot", "spot_", "in()", "in(spot,", "in(H100, TPU!GPU)", "!!!in(H100, TPU)", "!", "in(a,b",
      "a b", "exists(", "a,,b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
  CAPTURE(text);
  const auto selector = read_label_conditions("zone", text);
  REQUIRE_FALSE(selector);
  const bool says_how = selector.error().find("exists()") != std::string::npos ||
                        selector.error().find("in quotes") != std::string::npos;
  CHECK(says_how);
}

TEST_CASE("the names of labels follow Ray's form") {
  const std::string good = GENERATE("region", "ray.io/accelerator-type", "a", "A.b_c-1", "x.y/z");
  CAPTURE(good);
  CHECK(label_name_trouble(good).empty());
  const std::string bad = GENERATE("", "-region", "region-", "ray!.io/accelerator-type",
                                   "!-invalidkey", "!!accelerator-type?", "/a", "a/");
  CAPTURE(bad);
  CHECK_FALSE(label_name_trouble(bad).empty());
}

TEST_CASE("a selector is told in few words") {
  const auto selector = read_label_conditions("zone", "!in(a,b),exists()");
  REQUIRE(selector);
  CHECK(to_string(*selector) == "zone!=(a|b), zone");
  CHECK(to_string(LabelSelector{{"gpu", LabelCondition::Kind::one_of, {"A100"}}}) == "gpu=A100");
  CHECK(to_string(LabelSelector{{"gpu", LabelCondition::Kind::absent}}) == "no gpu");
}
