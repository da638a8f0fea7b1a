import Foundation
import NIOHTTP1
import Notifications
import Testing

@testable import ProviderServer
@testable import ServiceTesting

/// Import and export.
@Suite(.timeLimit(.minutes(3))) struct TransferTests {
    private static func rows(
        _ form: ListForm, _ text: String, maximum: Int = 100, step: Int = 1
    ) -> [RowReader.Row] {
        var reader = RowReader(form, maximumBytes: maximum)
        var rows: [RowReader.Row] = []
        let bytes = Array(text.utf8)
        for start in stride(from: 0, to: bytes.count, by: step) {
            reader.read(bytes[start..<min(start + step, bytes.count)]) { rows.append($0) }
        }
        reader.finish { rows.append($0) }
        return rows
    }

    @Test func `A time that was shown is read as it was`() {
        for milliseconds in (0..<1000).map({ 1_795_000_000_000 + $0 }) as [UInt64] {
            let time = Timestamp(milliseconds: milliseconds)
            #expect(Timestamp(text: time.text) == time)
        }
    }

    @Test(arguments: [1, 3, 1000])
    func `Rows are found however the bytes arrive`(_ step: Int) {
        let csv = Self.rows(.csv, "a,b\r\n\"x\ny\",1\n\nlast", step: step)
        #expect(csv.map(\.line) == [1, 2, 5])
        #expect(csv.map { $0.text.map { String(decoding: $0, as: UTF8.self) } } == ["a,b", "\"x\ny\",1", "last"])
        let lines = Self.rows(.lines, "{\"a\":\"\\\"\"}\n{}\n", step: step)
        #expect(lines.map(\.line) == [1, 2])
        let long = Self.rows(.lines, "12345678901\n1234567890\n", maximum: 10, step: step)
        #expect(long.map { $0.text == nil } == [true, false])
    }

    @Test(arguments: [
        ("a,b", ["a", "b"]), ("a,", ["a", ""]), ("", [""]), (#""a,""b""",c"#, [#"a,"b""#, "c"]),
    ])
    func `Fields are read`(_ row: String, _ fields: [String]) { #expect(CSVRow.fields(Array(row.utf8)) == fields) }

    @Test(arguments: [#""a"#, #""a"b"#, #"a"b"#])
    func `Quotation marks that do not fit are a fault`(_ row: String) { #expect(CSVRow.fields(Array(row.utf8)) == nil) }

    @Test func `A field is no formula`() {
        #expect(CSVRow.text(["=1+1", "a\"b", "-x"]) == "'=1+1,\"a\"\"b\",'-x\r\n")
        // A combining character belongs to the one before it, but a reader compares bytes.
        let row = CSVRow.text(["=\u{301}1", "a\"\u{301},b"])
        #expect(Array(row.utf8) == Array("'=\u{301}1,\"a\"\"\u{301},b\"\r\n".utf8))
    }

    @Test(arguments: [
        "+46701234567", "@anna", "-", "=1+1", "'", "''", "'+1", "'anna", "anna", "", "x\"\u{301},=1+1,", "1,\u{301}2",
        "=\u{301}1", "'\u{301}",
    ])
    func `A field that is marked as text comes back as it was`(_ field: String) {
        let row = CSVRow.text([field]).dropLast()
        #expect(CSVRow.fields(Array(row.utf8))?.map(CSVRow.unmarked) == [field])
    }

    @Test func `A file of a spreadsheet is imported, and lines of another encoding are reported`() async throws {
        try await TestShop.run(devices: []) { shop in
            let header: [UInt8] = [0xef, 0xbb, 0xbf] + Array("id,deviceToken,environment,user,tags\r\n".utf8)
            let good = Array("a,00,development,'+4670,'@x y\r\n".utf8)
            let bad = Array("b,01,development,J".utf8) + [UInt8(0xf6)] + Array("rg,\r\n".utf8)
            let answer = try await shop.provider.importInstallations(header + good + bad, key: shop.serverKey)
            #expect(answer["imported"] == 1 && answer["bad"] == 1, "\(answer.body.text)")
            #expect(answer["badLines", "0", "line"] == 3)
            #expect(answer.body.text.contains("UTF-8"))
            let stored = try await shop.provider.ask(.GET, "/v1/installations/a", key: shop.serverKey)
            #expect(stored["user"] == "+4670" && stored["tags"] == ["@x", "y"])
            let exported = try await shop.provider.text("/v1/installations", key: shop.serverKey, accept: "text/csv")
            let again = try await shop.provider.importInstallations(Array(exported.utf8), key: shop.serverKey)
            #expect(again["imported"] == 1 && again["bad"] == 0, "\(again.body.text)")
            let same = try await shop.provider.ask(.GET, "/v1/installations/a", key: shop.serverKey)
            #expect(same["user"] == "+4670" && same["tags"] == ["@x", "y"])
        }
    }

    @Test(arguments: [("id,deviceToken,environment,appTags", JSONValue.array([])), ("id,deviceToken,environment", nil)])
    func `An empty field of appTags means that the app has set none`(_ header: String, _ tags: JSONValue?) async throws
    {
        try await TestShop.run(devices: []) { shop in
            let line = header.hasSuffix("appTags") ? "a,00,development," : "a,00,development"
            let file = Array("\(header)\n\(line)\n".utf8)
            let answer = try await shop.provider.importInstallations(file, key: shop.serverKey)
            #expect(answer["imported"] == 1, "\(answer.body.text)")
            #expect(try await shop.provider.ask(.GET, "/v1/installations/a", key: shop.serverKey)["appTags"] == tags)
        }
    }

    @Test func `Good lines are imported and bad lines reported, in both forms`() async throws {
        try await TestShop.run(devices: []) { shop in
            func post(_ type: String, _ body: String) async throws -> TestProvider.Answer {
                try await shop.provider.ask(
                    .POST, "/v1/installations/import", body, key: shop.serverKey, headers: [("content-type", type)])
            }
            let csv = try await post(
                "text/csv",
                "id,deviceToken,environment,tags,user\na,00,development,x y,anna\nb,zz,development,,\n"
                    + "c,01,development\nd d,02,development,,\ne,03,development,,\n")
            #expect(csv.status == 200 && csv["imported"] == 2 && csv["bad"] == 3)
            #expect(csv["badLines", "0", "line"] == 3 && csv["badLines", "0", "pointer"] == "/deviceToken")
            #expect(csv["badLines", "1", "line"] == 4 && csv["badLines", "2", "pointer"] == "/id")
            let lines = try await post(
                "application/x-ndjson",
                #"{"id":"a","deviceToken":"0a","environment":"development","values":{"n":1}}"# + "\n{\n"
                    + #"{"id":"f","deviceToken":"0f","environment":"production"}"#)
            #expect(lines["imported"] == 1 && lines["badLines", "0", "line"] == 2)
            #expect(lines["badLines", "1", "pointer"] == "/environment")
            #expect(try await post("text/plain", "x").status == 415)
            let other = try await post("Text/CSV ; charset=utf-8", "id,deviceToken,environment\nz,0c,development\n")
            #expect(other.status == 200 && other["imported"] == 1)
            let unknown = try await post("text/csv", "id,colour\n")
            #expect(unknown["imported"] == 0 && unknown["bad"] == 1)
        }
    }

    @Test(arguments: [
        "id,colour\na,b\nc,d\n", "id;deviceToken\na;00\nb;01\n", "id,deviceToken,id\na,00,b\nc,01,d\n", "id\na\nb\n",
        "deviceToken\n00\n01\n", "\"id,deviceToken\na,00\nb,01\n", "a,00\nb,01\nc,02\n",
    ])
    func `With a bad header no line is imported, and the report says so once`(_ file: String) async throws {
        try await TestShop.run(devices: []) { shop in
            let answer = try await shop.provider.importInstallations(Array(file.utf8), key: shop.serverKey)
            #expect(answer["imported"] == 0 && answer["bad"] == 3, "\(answer.body.text)")
            #expect(answer["badLines", "0", "line"] == 1 && answer["badLines", "1"] == nil)
            #expect(answer.body.text.contains("no line is imported"))
        }
    }

    @Test func `A quotation mark that is not closed takes lines with it, and the report counts them`() async throws {
        try await TestShop.run(devices: []) { shop in
            let file =
                "id,deviceToken,environment\na,\"00,development\nb,01,development\nc,02\",development\nd,03,development\n"
            let answer = try await shop.provider.importInstallations(Array(file.utf8), key: shop.serverKey)
            #expect(answer["imported"] == 1 && answer["bad"] == 3, "\(answer.body.text)")
            #expect(answer["badLines", "0", "line"] == 2 && answer.body.text.contains("The 2 lines after it"))
            #expect(try await shop.provider.ask(.GET, "/v1/installations/d", key: shop.serverKey).status == 200)
        }
    }

    @Test func `A file of JSON lines may begin with a mark too`() async throws {
        try await TestShop.run(devices: []) { shop in
            let answer = try await shop.provider.ask(
                .POST, "/v1/installations/import",
                "\u{feff}" + #"{"id":"a","deviceToken":"00","environment":"development"}"#,
                key: shop.serverKey, headers: [("content-type", "application/x-ndjson")])
            #expect(answer["imported"] == 1 && answer["bad"] == 0, "\(answer.body.text)")
        }
    }

    @Test(arguments: ["text/csv", "application/x-ndjson"])
    func `An import of an export brings no ended installation back`(_ type: String) async throws {
        try await TestShop.run(devices: []) { shop in
            let path = "/v1/installations/"
            for id in ["b", "a"] {
                let put = try await shop.provider.ask(
                    .PUT, path + id, #"{"deviceToken":"01","environment":"development","user":"\#(id)"}"#,
                    key: shop.serverKey)
                try #require(put.status == 200)
            }
            let exported = try await shop.provider.text("/v1/installations", key: shop.serverKey, accept: type)
            let shown = try await shop.provider.ask(.GET, path + "b", key: shop.serverKey)
            for id in ["a", "b"] { _ = try await shop.provider.ask(.DELETE, path + id, key: shop.serverKey) }
            let answer = try await shop.provider.ask(
                .POST, "/v1/installations/import", exported, key: shop.serverKey, headers: [("content-type", type)])
            #expect(answer["imported"] == 2 && answer["bad"] == 0, "\(answer.body.text)")
            let again = try await shop.provider.ask(.GET, path + "b", key: shop.serverKey)
            #expect(again["ended"] != nil && again["ended"] == shown["ended"])
            #expect(again["registeredAt"] == shown["registeredAt"])
            #expect(try await shop.provider.ask(.GET, path + "a", key: shop.serverKey)["ended"] == nil)
        }
    }

    @Test func `An import is no registration: a 410 ends what it has added`() async throws {
        let removed = #"{"kind":"removed","since":1700000000000}"#
        try await TestShop.run(devices: [removed, removed, removed]) { shop in
            let times = ["", "2023-11-14T22:13:19Z", "2999-01-01T00:00:00Z"]
            let rows = zip(shop.tokens, times).enumerated().map { "i\($0),\($1.0),development,\($1.1)\n" }
            let file = "id,deviceToken,environment,registeredAt\n" + rows.joined() + "i9,09,development,yesterday\n"
            let answer = try await shop.provider.importInstallations(Array(file.utf8), key: shop.serverKey)
            #expect(answer["imported"] == 3 && answer["badLines", "0", "pointer"] == "/registeredAt")
            #expect(try await shop.provider.finished(try await shop.send())["failed"] == 3)
            func shown(_ id: String) async throws -> TestProvider.Answer {
                try await shop.provider.ask(.GET, "/v1/installations/\(id)", key: shop.serverKey)
            }
            for id in ["i0", "i1"] { #expect(try await shown(id)["ended", "reason"] == "Unregistered", "\(id)") }
            // A time in the future is now, which is later than the service's time.
            #expect(try await shown("i2")["ended"] == nil)
            #expect(try await shown("i0")["registeredAt"] == nil)
        }
    }

    @Test func `What is exported can be imported again`() async throws {
        try await TestShop.run(devices: []) { shop in
            let text = (0..<2500).map { number in
                #"{"id":"i\#(number)","deviceToken":"\#(String(format: "%04x", number))","environment":"development","tags":["t"],"languages":["sv","en"]}"#
            }.joined(separator: "\n")
            let answer = try await shop.provider.ask(
                .POST, "/v1/installations/import", text, key: shop.serverKey,
                headers: [("content-type", "application/x-ndjson")])
            #expect(answer["imported"] == 2500)
            for type in ["text/csv", "application/x-ndjson"] {
                let exported = try await shop.provider.text("/v1/installations", key: shop.serverKey, accept: type)
                #expect(exported.split(whereSeparator: \.isNewline).count == (type == "text/csv" ? 2501 : 2500))
                let again = try await shop.provider.ask(
                    .POST, "/v1/installations/import", exported, key: shop.serverKey, headers: [("content-type", type)])
                #expect(again["imported"] == 2500 && again["bad"] == 0, "\(again.body.text.prefix(500))")
            }
        }
    }
}
