import CampaignStore
import HTTPAPI
import Notifications

/// The values that a template may name: texts, numbers and booleans.
enum TemplateValues {
    private static let text = JSONForm<String>.text(.upTo(bytes: ProviderServerLimits.valueBytes))

    /// Reads an object of values.
    static func read(_ key: String, _ reader: DocumentReader) throws(Problem) -> JSONMembers? {
        guard let values = try reader.object(key, keys: nil) else { return nil }
        return try read(values)
    }

    static func read(_ reader: DocumentReader) throws(Problem) -> JSONMembers {
        guard reader.members.count <= ProviderServerLimits.values else {
            throw .invalid(reader.pointer, "There may be \(ProviderServerLimits.values) values.")
        }
        for (name, value) in reader.members {
            guard TemplateText.isName(name) else {
                throw .invalid(
                    reader.place(name),
                    "The name has to be 1 to \(TemplateText.maximumNameBytes) letters, digits and _ - .")
            }
            switch value {
            case .bool, .integer: continue
            case .number(let number):
                guard Installation.allows(number) else {
                    throw reader.fault(
                        name,
                        "a number of at most \(Installation.numberDigits) digits, and a power of ten of at most "
                            + "\(Installation.numberPower)")
                }
            case .string:
                _ = try reader.read(name, text)
            case .null, .array, .object: throw reader.fault(name, "a text, a number, true or false")
            }
        }
        return reader.members
    }
}
