import PostgresClient
import Testing

@testable import PostgresStore

@Suite("Columns and their parameters")
struct BoundColumnTests {
    private let columns = [
        BoundColumn("device", .integers([1, 2])), BoundColumn("topic", .byteArrays([nil, [3]])),
        BoundColumn("push_type", .texts(["alert", nil])), BoundColumn("expires", .integer(4)),
        BoundColumn("id", .bytes([5])), BoundColumn("name", .text("6")), BoundColumn("active", .bool(true)),
    ]

    @Test func `Names, parameters and values are in the order of the list`() {
        #expect(columns.names == "device, topic, push_type, expires, id, name, active")
        #expect(
            columns.parameters()
                == "$1::bigint[], $2::bytea[], $3::text[], $4::bigint, $5::bytea, $6::text, $7::boolean")
        #expect(
            columns.values == [
                .integers([1, 2]), .byteArrays([nil, [3]]), .texts(["alert", nil]), .integer(4), .bytes([5]),
                .text("6"),
                .bool(true),
            ])
    }

    @Test func `The number of the first parameter can be chosen`() {
        #expect(columns.prefix(2).map(\.self).parameters(from: 4) == "$4::bigint[], $5::bytea[]")
    }

    @Test func `The statement's text does not depend on the number of mailboxes`() {
        let (none, empty) = (MailboxColumns.columns(of: []), MailboxColumns.columns(of: [nil, nil]))
        #expect(none.names == empty.names)
        #expect(none.parameters() == empty.parameters())
    }
}
