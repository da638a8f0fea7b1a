import PostgresClient

/// A column and the parameter for it: a value, or an array with the values of several rows.
///
/// A statement takes the names and the parameters from one list, so their orders cannot differ. The names and types in a
/// list never depend on the values, because each connection keeps the statement prepared.
struct BoundColumn: Sendable {
    let name: String
    let value: PostgresValue

    init(_ name: String, _ value: PostgresValue) {
        self.name = name
        self.value = value
    }
}

extension [BoundColumn] {
    var values: [PostgresValue] { map(\.value) }

    /// The names of the columns, for INSERT and SELECT.
    var names: String { map(\.name).joined(separator: ", ") }

    /// The names of the columns of a table, for SELECT.
    func names(of table: String) -> String { map { "\(table).\($0.name)" }.joined(separator: ", ") }

    /// Sets the columns to those of another table, for UPDATE.
    func assignments(from table: String) -> String {
        map { "\($0.name) = \(table).\($0.name)" }.joined(separator: ", ")
    }

    /// The parameters.
    /// - Parameter first: the number of the first one. Those before it are not of columns.
    func parameters(from first: Int = 1) -> String {
        enumerated().map { "$\(first + $0)::\($1.value.typeName)" }.joined(separator: ", ")
    }
}
