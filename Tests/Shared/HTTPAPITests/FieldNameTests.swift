import HTTPAPI
import HTTPTypes
import Testing

@Suite struct FieldNameTests {
    @Test(arguments: FieldName.allCases) func `Each name is valid and keeps its value`(_ name: FieldName) {
        var fields = HTTPFields()
        fields[name] = "x"
        #expect(fields[name] == "x")
        #expect(fields[values: name] == ["x"])
        #expect(fields.map(\.name.rawName) == [name.rawValue])
    }
}
