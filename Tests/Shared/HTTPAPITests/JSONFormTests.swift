import Foundation
import Notifications
import Testing

@testable import HTTPAPI

/// One declaration of a message, from which reading, writing and the description follow.
struct JSONFormTests {
    private struct Parcel: Sendable, Equatable {
        let id: String
        let weight: Int64
        let isFragile: Bool?
        let stops: [Stop]?
    }

    private struct Stop: Sendable, Equatable {
        let city: String
        let extra: JSONValue?
    }

    private static let stop: JSONForm<Stop> = JSONForm.object(
        "Stop", { Stop(city: $0, extra: $1) },
        .required("city", .text(.line(maximumBytes: 5)), \.city),
        .optional("extra", .json(.openObject), \.extra))

    private static let parcel: JSONForm<Parcel> = JSONForm.object(
        "Parcel", { Parcel(id: $0, weight: $1, isFragile: $2, stops: $3) },
        .required("id", .text(.any), \.id, "Its number."),
        .required("weight", .integer(from: 1, to: 9), \.weight),
        .optional("isFragile", .boolean, \.isFragile),
        .optional("stops", .list(of: stop, to: 2), \.stops))

    private static func value(_ text: String) throws -> JSONValue {
        try #require(JSONValue(any: Array(text.utf8)))
    }

    @Test(arguments: [
        #"{"id":"a","isFragile":true,"stops":[{"city":"Ume","extra":{"a":1}},{"city":"Oslo"}],"weight":3}"#,
        #"{"id":"","weight":9}"#,
    ])
    func `What was read is written as it was`(_ text: String) throws {
        let value = try Self.value(text)
        #expect(Self.parcel.write(try Self.parcel.read(value)) == value)
        try Self.parcel.schema.check(value)
    }

    @Test func `For a server null counts as missing if it says so, and the rest is checked as before`() throws {
        let text = #"{"id":"a","weight":3,"isFragile":null,"stops":[{"city":"Oslo","extra":null}]}"#
        let read = try Self.parcel.read(try Self.value(text), nullIsMissing: true)
        #expect(read.isFragile == nil && read.stops == [Stop(city: "Oslo", extra: nil)])
        for (text, pointer) in [(#"{"id":null,"weight":3}"#, ""), (#"{"id":"a","weight":3,"size":null}"#, "/size")] {
            let value = try Self.value(text)
            let problem = #expect(throws: Problem.self) { try Self.parcel.read(value, nullIsMissing: true) }
            #expect(problem?.pointer == pointer)
        }
    }

    @Test func `For a client null counts as missing, and 3.0 is an integer`() throws {
        let read = try Self.parcel.read(
            try Self.value(#"{"id":"a","weight":3.0,"isFragile":null}"#), isStrict: false)
        #expect(read == Parcel(id: "a", weight: 3, isFragile: nil, stops: nil))
    }

    @Test(arguments: [
        (#"[]"#, ""), (#"{"id":"a"}"#, ""), (#"{"id":"a","weight":null}"#, "/weight"), (#"{"id":1,"weight":3}"#, "/id"),
        (#"{"id":"a","weight":0}"#, "/weight"), (#"{"id":"a","weight":1.5}"#, "/weight"),
        (#"{"id":"a","weight":1,"size":2}"#, "/size"), (#"{"id":"a","weight":1,"a/b":2}"#, "/a~1b"),
        (#"{"id":"a","weight":1,"isFragile":0}"#, "/isFragile"),
        (#"{"id":"a","weight":1,"isFragile":null}"#, "/isFragile"), (#"{"id":"a","weight":1,"stops":{}}"#, "/stops"),
        (#"{"id":"a","weight":1,"stops":[{"city":"a"},{"city":"Uppsala"}]}"#, "/stops/1/city"),
        (#"{"id":"a","weight":1,"stops":[{"city":"a"},{"city":"a"},{"city":"a"}]}"#, "/stops"),
        (#"{"id":"a","weight":1,"stops":[{"city":"a","extra":[]}]}"#, "/stops/0/extra"),
    ])
    func `A fault has its place`(_ text: String, _ pointer: String) throws {
        let value = try Self.value(text)
        let problem = #expect(throws: Problem.self) { try Self.parcel.read(value) }
        #expect(problem?.status == 400 && problem?.pointer == pointer)
    }

    @Test func `The description has every member, and which of them are required`() throws {
        let text = Self.parcel.schema.definition.text
        for part in [
            #""id":{"description":"Its number.","type":"string"}"#, #""required":["id","weight"]"#,
            #""additionalProperties":false"#, #""stops":{"#,
        ] { #expect(text.contains(part), "\(text)") }
        #expect(Self.parcel.schema.references.keys.sorted() == ["Parcel", "Stop"])
    }

    private struct Order: JSONMessage, Equatable {
        let number: UInt8
        let prices: [String: Int]
        let parcel: Size

        struct Size: JSONMessage, Equatable {
            let width: Int?
            let height: Int?

            static let form: JSONForm<Size> = .object(
                nil, Size.init, .optional("width", .integer(), \.width), .optional("height", .integer(), \.height))
        }

        static let form: JSONForm<Order> = .object(
            "Order", Order.init, .required("number", .integer(), \.number),
            .required("prices", .dictionary(of: .integer()), \.prices), .members(of: Size.form, \.parcel))
    }

    @Test func `The members of another object stand among an object's own`() throws {
        let text = #"{"height":2,"number":7,"prices":{"a":1}}"#
        let order = try Order.form.read(try Self.value(text))
        #expect(order == Order(number: 7, prices: ["a": 1], parcel: Order.Size(width: nil, height: 2)))
        #expect(Order.form.write(order).text == text)
        #expect(Order.form.schema.keys == ["number", "prices", "width", "height"])
    }

    @Test(arguments: [
        (#"{"number":7,"prices":{},"depth":1}"#, "/depth"), (#"{"number":256,"prices":{}}"#, "/number"),
        (#"{"number":7,"prices":{"b/c":"x"}}"#, "/prices/b~1c"), (#"{"number":7,"prices":[]}"#, "/prices"),
        (#"{"number":7,"prices":{},"width":"x"}"#, "/width"),
    ])
    func `A fault in a part of an object has its place`(_ text: String, _ pointer: String) throws {
        let value = try Self.value(text)
        let problem = #expect(throws: Problem.self) { try Order.form.read(value) }
        #expect(problem?.pointer == pointer)
    }

    @Test func `A message is decoded and encoded by its form, and a decoder ignores unknown keys`() throws {
        let text = #"{"number":7,"prices":{},"colour":"red"}"#
        let order = try JSONDecoder().decode(Order.self, from: Data(text.utf8))
        #expect(order.number == 7)
        #expect(String(decoding: try JSONEncoder().encode(order), as: UTF8.self).contains(#""number":7"#))
        #expect(throws: (any Error).self) { try JSONDecoder().decode(Order.self, from: Data("{}".utf8)) }
    }

    @Test func `A form for another type has the same description`() throws {
        let form: JSONForm<Int> = JSONForm.text(.any).map(
            to: { (number: Int) in String(number) }, from: { Int($0) }, allowed: "a number")
        #expect(try form.read("7") == 7)
        #expect(form.write(7) == "7")
        #expect(throws: Problem.invalid("/a", "The value has to be a number.")) { try form.read("x", at: "/a") }
    }
}
