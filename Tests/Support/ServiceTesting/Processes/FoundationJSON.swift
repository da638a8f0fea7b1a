import CommonTesting
import Foundation

/// Any JSON, for an exact comparison with a contract. Foundation reads it, so that a fault of our own reader cannot hide.
enum FoundationJSON: Sendable, Equatable, Decodable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([FoundationJSON])
    case object([String: FoundationJSON])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([FoundationJSON].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: FoundationJSON].self))
        }
    }

    init(_ text: some StringProtocol) throws {
        self = try JSONDecoder().decode(FoundationJSON.self, from: Data(text.utf8))
    }

    init(_ data: Data) throws {
        self = try JSONDecoder().decode(FoundationJSON.self, from: data)
    }

    subscript(_ key: String) -> FoundationJSON? {
        if case .object(let members) = self { members[key] } else { nil }
    }

    var keys: Set<String> {
        if case .object(let members) = self { Set(members.keys) } else { [] }
    }

    var text: String? {
        if case .string(let text) = self { text } else { nil }
    }

    var number: Double? {
        if case .number(let number) = self { number } else { nil }
    }
}

extension FoundationJSON: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    init(stringLiteral value: String) { self = .string(value) }
    init(integerLiteral value: Int) { self = .number(Double(value)) }
    init(arrayLiteral elements: FoundationJSON...) { self = .array(elements) }
    init(dictionaryLiteral elements: (String, FoundationJSON)...) {
        self = .object(Dictionary(elements) { _, last in last })
    }
}

extension ChildProcess.Finished {
    /// The lines of the output as JSON.
    /// - Throws: if a line is not JSON.
    var objects: [FoundationJSON] {
        get throws {
            let lines = output.split(separator: "\n", omittingEmptySubsequences: false)
            return try lines.dropLast().map { try FoundationJSON($0) }
        }
    }

    /// The single line of the output as JSON.
    /// - Throws: if there is not exactly one line, or if it is not JSON.
    var object: FoundationJSON {
        get throws {
            let objects = try objects
            guard objects.count == 1, output.hasSuffix("\n") else {
                throw UnexpectedOutput(description: "expected one line of JSON: \(output.debugDescription) \(errors)")
            }
            return objects[0]
        }
    }
}

/// The output does not have the form of the contract.
struct UnexpectedOutput: Error, CustomStringConvertible {
    let description: String
}
