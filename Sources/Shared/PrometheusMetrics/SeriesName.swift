/// A metric's name and labels, in Prometheus' format.
struct SeriesName: Hashable, Comparable {
    let name: String
    /// The labels in braces; empty if there are none.
    private let labels: String

    init(_ label: String, _ dimensions: [(String, String)]) {
        name = Self.identifier(label, mayHaveColons: true)
        labels = dimensions.map { #"\#(Self.identifier($0.0))="\#(Self.escaped($0.1))""# }.joined(separator: ",")
    }

    /// - Parameters:
    ///   - suffix: a text to append to the name.
    ///   - label: a further label, in Prometheus' format.
    func text(suffix: String = "", adding label: String = "") -> String {
        let all = [labels, label].filter { !$0.isEmpty }.joined(separator: ",")
        return name + suffix + (all.isEmpty ? "" : "{\(all)}")
    }

    /// The text as an identifier: it has only letters, digits and underscores, and does not begin with a digit.
    private static func identifier(_ text: String, mayHaveColons: Bool = false) -> String {
        var result = ""
        for character in text.unicodeScalars {
            switch character {
            case "a"..."z", "A"..."Z", "_": result.unicodeScalars.append(character)
            case "0"..."9" where !result.isEmpty: result.unicodeScalars.append(character)
            case ":" where mayHaveColons: result.unicodeScalars.append(character)
            default: result += "_"
            }
        }
        return result.isEmpty ? "_" : result
    }

    private static func escaped(_ value: String) -> String {
        var result = ""
        // A combining mark after one of these hides it from those who look at characters, but not from Prometheus.
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\\": result += #"\\"#
            case "\"": result += #"\""#
            case "\n": result += #"\n"#
            case "\r": break
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    static func < (lhs: SeriesName, rhs: SeriesName) -> Bool {
        (lhs.name, lhs.labels) < (rhs.name, rhs.labels)
    }
}
