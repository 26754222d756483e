// Package images turns folders of pictures into datasets of features.
//
// A collection is a folder with one sub-folder for every class, named after it,
// as MIT-Indoor-67, Caltech-101 and Caltech256 are unpacked. Pictures are JPEG
// or PNG files. A Net makes features of their pixels; package layers/vgg has one.
package images

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"l2mt/data"
	"l2mt/data/files"
)

// Collection is the files of pictures below a folder.
type Collection struct {
	// Dir is the folder that holds the classes' folders.
	Dir string
	// Classes are the names of their folders, in alphabetical order.
	Classes []string
	// Files are the pictures by class, then by name.
	Files []File
	// Others is the number of files and folders among the pictures whose names
	// do not end as a picture's.
	Others int
}

// File is a file that should hold a picture.
type File struct {
	// Name is its path below the collection's folder, with slashes.
	Name string
	// Class is the index of its class.
	Class int
	// Size is its size in bytes.
	Size int64
}

// unpacked are the folders of the classes in the archives of MIT-Indoor-67,
// Caltech256 and Caltech-101.
var unpacked = []string{"Images", "256_ObjectCategories", "101_ObjectCategories"}

// extensions are how the names of pictures end, in lower case.
var extensions = []string{".jpg", ".jpeg", ".png"}

// Find lists the pictures of a folder that has a sub-folder for every class, or
// in which one of the datasets above was unpacked. Classes to leave out are given
// by name; a background class such as Caltech-101's BACKGROUND_Google is one
// like any other. A class without pictures is an error. Names that begin with a
// dot are passed over.
func Find(dir string, without ...string) (*Collection, error) {
	c := &Collection{Dir: dir}
	fault := func(err error) (*Collection, error) {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	classes, _, err := files.List(dir)
	if err != nil {
		return fault(err)
	}
	for _, name := range unpacked {
		inner := filepath.Join(dir, name)
		folders, _, _ := files.List(inner)
		if len(folders) > 0 {
			c.Dir = inner
			classes = folders
			break
		}
	}
	for _, name := range without {
		if !slices.Contains(classes, name) {
			return fault(data.Invalid("there is no class %q to leave out", name))
		}
	}
	for _, class := range classes {
		if !slices.Contains(without, class) {
			err := c.add(class)
			if err != nil {
				return fault(err)
			}
		}
	}
	if len(c.Classes) == 0 {
		return fault(data.Invalid("it has no classes; it needs a sub-folder with pictures for every class"))
	}
	return c, nil
}

// add adds a class and its pictures.
func (c *Collection) add(class string) error {
	folders, pictures, err := files.List(filepath.Join(c.Dir, class))
	if err != nil {
		return err
	}
	c.Others += len(folders)
	first := len(c.Files)
	for _, f := range pictures {
		if !slices.Contains(extensions, strings.ToLower(path.Ext(f.Name()))) {
			c.Others++
			continue
		}
		c.Files = append(c.Files,
			File{path.Join(class, f.Name()), len(c.Classes), f.Size()})
	}
	if len(c.Files) == first {
		return data.Invalid("class %s: its folder has no pictures (%s); remove it, or leave the class out",
			class, strings.Join(extensions, ", "))
	}
	c.Classes = append(c.Classes, class)
	return nil
}
