import Foundation

/// What `promtool check metrics` finds wrong with a page of metrics.
package enum MetricsLint {
    /// The page's faults, each with its metric: those that promtool's linter (promlint) looks for, and `promtool` itself if
    /// it is installed.
    package static func faults(_ page: String) async throws -> [String] {
        var faults = faults(inText: page)
        if ChildProcess.isInstalled("promtool") {
            let finished = try await ChildProcess.run("promtool", ["check", "metrics"], input: Array(page.utf8))
            if finished.status != 0 { faults.append(finished.output + finished.errors) }
        }
        return faults
    }

    private static func faults(inText page: String) -> [String] {
        var (help, types, faults): (Set<String>, [String: String], [String]) = ([], [:], [])
        for line in page.split(separator: "\n").map(String.init) {
            let words = line.split(separator: " ", maxSplits: 3).map(String.init)
            if line.hasPrefix("# HELP "), words.count == 4 {
                if !help.insert(words[2]).inserted { faults.append("\(words[2]): two HELP lines") }
                if types[words[2]] != nil { faults.append("\(words[2]): HELP comes after TYPE") }
            } else if line.hasPrefix("# TYPE "), words.count == 4 {
                if types.updateValue(words[3], forKey: words[2]) != nil { faults.append("\(words[2]): two TYPE lines") }
                faults += Self.faults(inName: words[2], words[3]).map { "\(words[2]): \($0)" }
                if !help.contains(words[2]) { faults.append("\(words[2]): no help text") }
            } else {
                let name = String(line.prefix { $0 != "{" && $0 != " " })
                let family = ["_bucket", "_sum", "_count"].first { name.hasSuffix($0) }.map { name.dropLast($0.count) }
                let isKnown = types[name] != nil || types[String(family ?? "")] == "histogram"
                if !isKnown { faults.append("\(name): no TYPE") }
            }
        }
        return faults
    }

    private static func faults(inName name: String, _ type: String) -> [String] {
        var faults: [String] = []
        let words = name.split(separator: "_").map(String.init)
        if type == "counter", !name.hasSuffix("_total") { faults.append("a counter should end with _total") }
        if type != "counter", name.hasSuffix("_total") { faults.append("only a counter should end with _total") }
        if type != "histogram", ["_bucket", "_sum", "_count"].contains(where: name.hasSuffix) {
            faults.append("the suffix belongs to histograms")
        }
        if name.contains(":") { faults.append("a colon is for rules") }
        if name != name.lowercased() { faults.append("names are in snake_case") }
        if let kind = words.first(where: ["counter", "gauge", "histogram", "summary", "untyped"].contains) {
            faults.append("the name contains the type \(kind)")
        }
        let others = [
            "milliseconds", "microseconds", "nanoseconds", "minutes", "hours", "days", "kilobytes", "megabytes",
        ]
        if let unit = words.first(where: others.contains) { faults.append("\(unit) is no base unit") }
        if let unit = words.first(where: ["ms", "us", "ns", "sec", "s", "b", "kb", "mb", "m", "h"].contains) {
            faults.append("\(unit) is an abbreviation")
        }
        return faults
    }
}
