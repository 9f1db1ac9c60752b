// Package kibana writes and imports the saved objects that show fiolat's documents in Kibana 8.12 to 9.x: data views
// and eleven dashboards. They are embedded; the program in kibana/gen makes them.
package kibana
