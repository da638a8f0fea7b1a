import GRDB
import Notifications

/// The function of SQLite's statements that compares two numbers of JSON exactly, whatever their size: less than 0 if the first
/// is smaller, 0 if both are equal, NULL if one is no number.
enum NumberOrder {
    static let name = "number_order"

    static let function = DatabaseFunction(name, argumentCount: 2, pure: true) { arguments in
        guard let one = arguments[0].number, let other = arguments[1].number else { return nil }
        return one.order(to: other)
    }
}

extension DatabaseValue {
    fileprivate var number: JSONNumber? { String.fromDatabaseValue(self).flatMap { JSONNumber($0) } }
}
