package import Notifications
package import PostgresClient

extension PostgresRow {
    package func moment(_ column: Int) -> Timestamp? { integer(column).map(Timestamp.init(column:)) }
}
